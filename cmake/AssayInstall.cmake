# The installed tree: bin, lib, lib/assay, share/assay. Programs and plugins are installed where they are made.
foreach(folder IN ITEMS suites results-schema)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY "${folder}" DESTINATION share/assay)
  endif()
endforeach()
install(DIRECTORY scripts/launchers scripts/templates DESTINATION share/assay/scripts)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION share/doc/assay OPTIONAL)
install(DIRECTORY docs DESTINATION share/doc/assay OPTIONAL)

# Installs the needs of a plugin that is built elsewhere: the headers that it may include (docs/design.md, "Interface
# versions"), the versions of the interface, the problems, and find_package(Assay).
install(DIRECTORY core/base core/machine core/api DESTINATION include/assay/core FILES_MATCHING PATTERN "*.hpp")
foreach(header IN LISTS problem_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  cmake_path(GET folder PARENT_PATH folder)
  file(STRINGS "${header}" own REGEX "^#include \"${folder}/")
  list(TRANSFORM own REPLACE "^#include \"(.*)\"$" "${PROJECT_SOURCE_DIR}/\\1")
  install(FILES "${header}" ${own} DESTINATION "include/assay/${folder}")
endforeach()
install(FILES "${ASSAY_GENERATED_DIRECTORY}/assay/interface_version.hpp" DESTINATION include/assay/assay)
install(DIRECTORY "${ASSAY_GENERATED_DIRECTORY}/assay/problem_version" DESTINATION include/assay/assay)
install(TARGETS assay_kernels ARCHIVE DESTINATION lib)
include(CMakePackageConfigHelpers)
configure_file(cmake/AssayConfig.cmake.in "${PROJECT_BINARY_DIR}/package/AssayConfig.cmake" @ONLY)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/AssayConfigVersion.cmake" COMPATIBILITY ExactVersion)
install(DIRECTORY "${PROJECT_BINARY_DIR}/package/" DESTINATION lib/cmake/Assay)

# Man pages and completions for bash are printed by the installed programs themselves (--help-as), so they have every flag of --help.
get_property(programs GLOBAL PROPERTY ASSAY_PROGRAMS)
get_property(commands GLOBAL PROPERTY ASSAY_COMMANDS)
if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "set(programs \"${programs}\")\nset(commands \"${commands}\")")
  install(SCRIPT cmake/install_manual.cmake)
endif()

# All that is needed to run, without the tests: what scripts/quickstart builds.
add_custom_target(assay_programs)
add_dependencies(assay_programs assay_core ${programs})
