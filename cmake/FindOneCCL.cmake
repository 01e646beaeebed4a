# oneCCL for processors: the newer oneAPI installs have a config file for SYCL alone, the wheel none. Target: OneCCL::ccl
# scripts/bootstrap puts the wheel's headers and its library for processors into .deps/oneccl.
find_path(OneCCL_INCLUDE_DIR oneapi/ccl.hpp PATHS "${PROJECT_SOURCE_DIR}/.deps/oneccl/include" ENV CCL_ROOT PATH_SUFFIXES include)
find_library(OneCCL_LIBRARY NAMES libccl.so.1.0 ccl PATHS "${PROJECT_SOURCE_DIR}/.deps/oneccl/lib" ENV CCL_ROOT PATH_SUFFIXES lib/ccl/cpu/lib lib/cpu)
set(OneCCL_VERSION "")
if(OneCCL_INCLUDE_DIR AND EXISTS "${OneCCL_INCLUDE_DIR}/oneapi/ccl/config.h")
  file(STRINGS "${OneCCL_INCLUDE_DIR}/oneapi/ccl/config.h" lines REGEX "define CCL_(MAJOR|MINOR|UPDATE)_VERSION")
  string(REGEX REPLACE ".*MAJOR_VERSION +([0-9]+).*MINOR_VERSION +([0-9]+).*UPDATE_VERSION +([0-9]+).*" "\\1.\\2.\\3" OneCCL_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneCCL REQUIRED_VARS OneCCL_LIBRARY OneCCL_INCLUDE_DIR VERSION_VAR OneCCL_VERSION)
mark_as_advanced(OneCCL_INCLUDE_DIR OneCCL_LIBRARY)
if(OneCCL_FOUND AND NOT TARGET OneCCL::ccl)
  add_library(OneCCL::ccl SHARED IMPORTED)
  set_target_properties(OneCCL::ccl PROPERTIES
    IMPORTED_CONFIGURATIONS NOCONFIG IMPORTED_LOCATION "${OneCCL_LIBRARY}" IMPORTED_LOCATION_NOCONFIG "${OneCCL_LIBRARY}"
    IMPORTED_SONAME_NOCONFIG libccl.so.1 INTERFACE_INCLUDE_DIRECTORIES "${OneCCL_INCLUDE_DIR}")
endif()
