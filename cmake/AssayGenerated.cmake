# The generated headers, in <build>/generated/assay:
#   build_info.hpp         version, compiler, flags (configure time)
#   known_backends.hpp, .cpp    which backends have which operation, built here or not, and transports (configure time)
#   test_paths.hpp         the folders of sources and build, for tests (configure time)
#   git_info.hpp           commit and dirty flag (looked up at every build)
#   interface_version.hpp       hash of the headers that plugins and core share (when one of them changes)
#   problem_version/<kind>.hpp  hash of the headers that declare one kind of problem
# and kernels/<name>/benchmark.hpp beside that folder, for the programs of kernels (AssayPrograms.cmake).
# Each is rewritten only when its content changes, so that a build with nothing to do does nothing.
set(ASSAY_GENERATED_DIRECTORY "${PROJECT_BINARY_DIR}/generated")

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" ASSAY_CXX_FLAGS)
configure_file("${PROJECT_SOURCE_DIR}/cmake/build_info.hpp.in" "${ASSAY_GENERATED_DIRECTORY}/assay/build_info.hpp" @ONLY)
configure_file("${PROJECT_SOURCE_DIR}/cmake/test_paths.hpp.in" "${ASSAY_GENERATED_DIRECTORY}/assay/test_paths.hpp" @ONLY)

# An operation is a folder with a problem.hpp, a backend one without. A backend has an operation where it has a file of its name,
# kernels/<backend>/<operation>.cpp. Transports declare their properties (assay_add_backend).
set_property(GLOBAL PROPERTY ASSAY_KNOWN_BACKENDS "")
function(assay_know_backend operation backend)
  set_property(GLOBAL APPEND_STRING PROPERTY ASSAY_KNOWN_BACKENDS "    {\"${operation}\", \"${backend}\"},\n")
endfunction()
file(GLOB problem_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/*/problem.hpp")
foreach(problem IN LISTS problem_headers)
  get_filename_component(folder "${problem}" DIRECTORY)
  get_filename_component(operation "${folder}" NAME)
  file(GLOB makers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/*/${operation}.cpp")
  foreach(maker IN LISTS makers)
    get_filename_component(folder "${maker}" DIRECTORY)
    get_filename_component(backend "${folder}" NAME)
    if(NOT EXISTS "${folder}/problem.hpp")
      assay_know_backend(${operation} ${backend})
    endif()
  endforeach()
endforeach()
# The backend whose numbers bound those of the others on the processor (core/api/ceiling_problem.hpp).
file(GLOB makers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/kernels/*/ceiling.cpp")
list(LENGTH makers count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${count} backends measure the processor's ceilings, expected one: ${makers}")
endif()
foreach(maker IN LISTS makers)
  get_filename_component(folder "${maker}" DIRECTORY)
  get_filename_component(backend "${folder}" NAME)
  assay_know_backend(ceiling ${backend})
endforeach()
# When every backend has been declared.
function(assay_write_known_backends)
  get_property(ASSAY_KNOWN_BACKENDS GLOBAL PROPERTY ASSAY_KNOWN_BACKENDS)
  foreach(suffix IN ITEMS hpp cpp)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/known_backends.${suffix}.in" "${ASSAY_GENERATED_DIRECTORY}/assay/known_backends.${suffix}" @ONLY)
  endforeach()
endfunction()

add_custom_target(assay_git_info
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}"
          "-DHEADER=${ASSAY_GENERATED_DIRECTORY}/assay/git_info.hpp" -P "${PROJECT_SOURCE_DIR}/cmake/write_git_info.cmake"
  BYPRODUCTS "${ASSAY_GENERATED_DIRECTORY}/assay/git_info.hpp"
  COMMENT "Looking up the git commit" VERBATIM)

# Versions that a plugin and the programs share. A plugin may include the headers of core/base, core/machine and
# core/api, and those of the operations that it makes: a change of the first refuses the plugin, a change of
# <folder>/problem.hpp that kind alone.
set(version_headers "")
function(assay_hash_headers name header root)  # further arguments: the headers
  set(made "${ASSAY_GENERATED_DIRECTORY}/assay/${header}")
  set(list "${PROJECT_BINARY_DIR}/interface/${name}.txt")
  list(JOIN ARGN "\n" text)
  file(CONFIGURE OUTPUT "${list}" CONTENT "${text}\n" @ONLY)  # a header added or removed counts too
  add_custom_command(
    OUTPUT "${made}"
    COMMAND "${CMAKE_COMMAND}" "-DLIST=${list}" "-DROOT=${root}" "-DNAME=${name}" "-DHEADER=${made}"
            -P "${PROJECT_SOURCE_DIR}/cmake/write_interface_version.cmake"
    DEPENDS ${ARGN} "${list}" "${PROJECT_SOURCE_DIR}/cmake/write_interface_version.cmake"
    COMMENT "Hashing the interface ${name}" VERBATIM)
  set(version_headers ${version_headers} "${made}" PARENT_SCOPE)
endfunction()

set(plugin_headers "")
foreach(room IN ITEMS base machine api)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/${room}/*.hpp")
  list(APPEND plugin_headers ${headers})
endforeach()
assay_hash_headers(interface_version interface_version.hpp "${PROJECT_SOURCE_DIR}" ${plugin_headers})
foreach(problem IN LISTS problem_headers)
  get_filename_component(folder "${problem}" DIRECTORY)
  get_filename_component(kind "${folder}" NAME)
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.hpp")
  list(REMOVE_ITEM headers "${problem}")
  assay_hash_headers(${kind} problem_version/${kind}.hpp "${PROJECT_SOURCE_DIR}" "${problem}" ${headers})
endforeach()
add_custom_target(assay_interface_version DEPENDS ${version_headers})
