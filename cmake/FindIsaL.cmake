# Intel's Intelligent Storage Acceleration Library: CRC-32C by the instructions of the processor. Target: IsaL::IsaL
find_path(IsaL_INCLUDE_DIR isa-l/crc.h)
find_library(IsaL_LIBRARY isal)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(IsaL REQUIRED_VARS IsaL_LIBRARY IsaL_INCLUDE_DIR)
mark_as_advanced(IsaL_INCLUDE_DIR IsaL_LIBRARY)
if(IsaL_FOUND AND NOT TARGET IsaL::IsaL)
  add_library(IsaL::IsaL UNKNOWN IMPORTED)
  set_target_properties(IsaL::IsaL PROPERTIES IMPORTED_LOCATION "${IsaL_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${IsaL_INCLUDE_DIR}")
endif()
