# The generated headers, in <build>/generated/assay:
#   build_info.hpp         version, compiler, flags (configure time)
#   test_paths.hpp         the folders of sources and build, for tests (configure time)
#   git_info.hpp           commit and dirty flag (looked up at every build)
#   interface_version.hpp  hash of the headers that plugins and core share (when one of them changes)
# Each is rewritten only when its content changes, so that a build with nothing to do does nothing.
set(ASSAY_GENERATED_DIRECTORY "${PROJECT_BINARY_DIR}/generated")

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" ASSAY_CXX_FLAGS)
configure_file("${PROJECT_SOURCE_DIR}/cmake/build_info.hpp.in" "${ASSAY_GENERATED_DIRECTORY}/assay/build_info.hpp" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/test_paths.hpp.in" "${ASSAY_GENERATED_DIRECTORY}/assay/test_paths.hpp" @ONLY)

add_custom_target(assay_git_info
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
          "-DHEADER=${ASSAY_GENERATED_DIRECTORY}/assay/git_info.hpp" -P "${PROJECT_SOURCE_DIR}/cmake/write_git_info.cmake"
  BYPRODUCTS "${ASSAY_GENERATED_DIRECTORY}/assay/git_info.hpp"
  COMMENT "Looking up the git commit" VERBATIM)

file(GLOB interface_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/*.hpp" "${PROJECT_SOURCE_DIR}/kernels/*.hpp"
     "${PROJECT_SOURCE_DIR}/comm/*.hpp")
set(interface_list "${PROJECT_BINARY_DIR}/interface_headers.txt")
list(JOIN interface_headers "\n" interface_text)
file(CONFIGURE OUTPUT "${interface_list}" CONTENT "${interface_text}\n" @ONLY)  # a header added or removed counts too
add_custom_command(
  OUTPUT "${ASSAY_GENERATED_DIRECTORY}/assay/interface_version.hpp"
  COMMAND "${CMAKE_COMMAND}" "-DLIST=${interface_list}" "-DROOT=${PROJECT_SOURCE_DIR}"
          "-DHEADER=${ASSAY_GENERATED_DIRECTORY}/assay/interface_version.hpp"
          -P "${PROJECT_SOURCE_DIR}/cmake/write_interface_version.cmake"
  DEPENDS ${interface_headers} "${interface_list}" "${PROJECT_SOURCE_DIR}/cmake/write_interface_version.cmake"
  COMMENT "Hashing the plugin interface" VERBATIM)
add_custom_target(assay_interface_version DEPENDS "${ASSAY_GENERATED_DIRECTORY}/assay/interface_version.hpp")
