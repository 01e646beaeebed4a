# assay_add_backend(<name> [PACKAGE <package> [VERSION <v>]] [FOUND <bool>] [LIBRARIES …] [REASON_IF_MISSING <text>]
#                   [SOURCES_OF <folder>] [UNITY] [LAUNCHED] [REFERENCE]
#                   [NETWORKS <device>] [FALLBACK])
# Builds all *.cpp (and *.cu) of the calling folder into the plugin <build>/lib/assay/libassay_<name>.so, which the core opens with
# dlopen. Cache option ASSAY_<NAME>: AUTO builds it where its package is found, ON demands it, OFF leaves it out.
# SOURCES_OF: a folder whose *.cpp are compiled in place of the calling folder's: one source, two libraries of one interface.
# UNITY: its files have no names in common, so that a unity build may compile them together.
# LAUNCHED: a transport that joins the ranks of a launcher without the help of another (`connect_launched_ranks`).
# REFERENCE: computes every kind of problem in the plainest way, in row-major order.
# NETWORKS: has the costly operations of networks on this device, cpu or gpu; --backend auto measures it. The first by name is
# the partner of the others.
# FALLBACK: computes what the chosen backend of a network or an analysis lacks.
# FOUND is for a caller that has done its own finding. A plugin is never linked by anything.
function(assay_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNITY;LAUNCHED;REFERENCE;FALLBACK"
                        "PACKAGE;VERSION;FOUND;REASON_IF_MISSING;SOURCES_OF;NETWORKS" "LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "assay_add_backend(${name}): unknown argument ${arg_UNPARSED_ARGUMENTS}. See cmake/AssayBackend.cmake.")
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH area)
  cmake_path(GET area FILENAME area)  # kernels or comm
  if(area STREQUAL "comm")
    assay_know_backend("collectives" ${name})
  endif()
  if(arg_LAUNCHED)
    assay_know_backend("launched ranks" ${name})
  endif()
  if(arg_REFERENCE)
    assay_know_backend("reference" ${name})
  endif()
  if(arg_FALLBACK)
    assay_know_backend("fallback" ${name})
  endif()
  if(arg_NETWORKS)
    assay_know_backend("networks on ${arg_NETWORKS}" ${name})
  endif()
  string(TOUPPER "ASSAY_${name}" option)
  set(${option} AUTO CACHE STRING "Backend ${name}: AUTO (where found), ON (demanded), OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  set_property(GLOBAL APPEND PROPERTY ASSAY_BACKEND_OPTIONS ${option})
  string(TOUPPER "${${option}}" wanted)

  if(NOT wanted STREQUAL "AUTO" AND NOT wanted)
    assay_note_backend(${name} "off (${option}=${${option}})")
    return()
  endif()

  set(found TRUE)
  set(version "")
  if(DEFINED arg_FOUND)
    set(found ${arg_FOUND})
  elseif(arg_PACKAGE)
    find_package(${arg_PACKAGE} ${arg_VERSION} QUIET)
    set(found ${${arg_PACKAGE}_FOUND})
    if(${arg_PACKAGE}_VERSION)
      set(version ", ${arg_PACKAGE} ${${arg_PACKAGE}_VERSION}")
    endif()
  endif()

  if(NOT found)
    set(reason "${arg_REASON_IF_MISSING}")
    if(NOT reason)
      set(reason "${arg_PACKAGE} is missing")
      if(arg_VERSION)
        set(reason "${arg_PACKAGE} >= ${arg_VERSION} is missing")
      endif()
      if(${arg_PACKAGE}_CONSIDERED_VERSIONS)
        list(JOIN ${arg_PACKAGE}_CONSIDERED_VERSIONS ", " considered)
        string(APPEND reason ", only ${considered} was found")
      endif()
    endif()
    if(wanted STREQUAL "AUTO")
      assay_note_backend(${name} "not built (${reason})")
      return()
    endif()
    set(how "install it and name its prefix in CMAKE_PREFIX_PATH")
    if(arg_PACKAGE)
      assay_how_to_get(${arg_PACKAGE} how)
    endif()
    message(FATAL_ERROR "The backend ${name} cannot be built (${option}=${${option}} demands it, but ${reason}). "
                        "To get it: ${how}. Or set ${option}=AUTO.")
  endif()

  set(folder "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_SOURCES_OF)
    set(folder "${arg_SOURCES_OF}")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*.cu")
  if(NOT sources)
    assay_note_backend(${name} "not built (its folder has no *.cpp)")
    return()
  endif()
  set(target assay_backend_${name})
  add_library(${target} MODULE ${sources})
  if(arg_UNITY)
    assay_unity_build(${target} ${sources})
  endif()
  target_link_libraries(${target} PRIVATE assay_core $<TARGET_NAME_IF_EXISTS:assay_${area}> ${arg_LIBRARIES} assay_warnings)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "assay_${name}"
    LIBRARY_OUTPUT_DIRECTORY "${ASSAY_PLUGIN_DIRECTORY}"
    CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden
    CUDA_RUNTIME_LIBRARY Shared
    LINKER_LANGUAGE CXX
    VISIBILITY_INLINES_HIDDEN ON
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN/..")
  # An undefined symbol is an error of this build, not of the first dlopen on a compute node. (The sanitizers' own
  # symbols come from the program, so there the check cannot hold.)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION lib/assay)
  assay_take_along(${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY ASSAY_PROGRAMS ${target})
  assay_note_backend(${name} "built${version}")
endfunction()

# A library from .deps is linked into <build>/lib and installed into lib, so that one RPATH serves both trees.
function(assay_take_along)
  set(deps "${PROJECT_SOURCE_DIR}/.deps")
  foreach(library IN LISTS ARGN)
    if(NOT TARGET ${library})
      continue()
    endif()
    get_target_property(imported ${library} IMPORTED)
    get_target_property(type ${library} TYPE)
    if(NOT imported OR NOT type STREQUAL "SHARED_LIBRARY")
      continue()
    endif()
    get_target_property(location ${library} LOCATION)
    get_target_property(configurations ${library} IMPORTED_CONFIGURATIONS)
    list(GET configurations 0 configuration)
    get_target_property(soname ${library} IMPORTED_SONAME_${configuration})
    get_filename_component(folder "${location}" DIRECTORY)
    set(link "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${soname}")
    cmake_path(IS_PREFIX deps "${location}" NORMALIZE inside)
    if(inside)
      file(RELATIVE_PATH original "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}" "${folder}/${soname}")
      file(MAKE_DIRECTORY "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")
      file(CREATE_LINK "${original}" "${link}" SYMBOLIC)
      # One file, under the name that the plugin asks for. install(IMPORTED_RUNTIME_ARTIFACTS) would leave that name out where it
      # is a symbolic link of the package's.
      file(REAL_PATH "${location}" original)
      install(FILES "${original}" DESTINATION lib RENAME "${soname}")
    elseif(IS_SYMLINK "${link}")
      file(REMOVE "${link}")  # of an earlier configuration: it would win over the library asked for now
    endif()
  endforeach()
endfunction()

function(assay_note_backend name text)
  set_property(GLOBAL APPEND PROPERTY ASSAY_BACKEND_NOTES "${name}: ${text}")
endfunction()

# One line per backend, at the end of configuring. An option that no backend has declared demands what this tree does not have
# (ON: an error), or has no effect (a warning).
function(assay_report_backends)
  get_property(notes GLOBAL PROPERTY ASSAY_BACKEND_NOTES)
  foreach(note IN LISTS notes)
    message(STATUS "backend ${note}")
  endforeach()
  get_property(options GLOBAL PROPERTY ASSAY_BACKEND_OPTIONS)
  get_cmake_property(variables CACHE_VARIABLES)
  list(FILTER variables INCLUDE REGEX "^ASSAY_")
  foreach(variable IN LISTS variables)
    if(NOT variable IN_LIST options)
      list(JOIN options " " known)
      if("${${variable}}" STREQUAL "ON")
        message(FATAL_ERROR "${variable}=ON cannot be had (this tree has no backend of that name). Known: ${known}.")
      endif()
      message(WARNING "${variable}=${${variable}} has no effect (no backend of that name in this tree). Known: ${known}.")
    endif()
  endforeach()
endfunction()
