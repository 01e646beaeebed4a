# The installed tree: bin, lib, lib/assay, share/assay. Programs and plugins are installed where they are made.
foreach(folder IN ITEMS suites results-schema)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY "${folder}" DESTINATION share/assay)
  endif()
endforeach()
install(DIRECTORY scripts/launchers DESTINATION share/assay/scripts)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION share/doc/assay OPTIONAL)
install(DIRECTORY docs DESTINATION share/doc/assay OPTIONAL)

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
