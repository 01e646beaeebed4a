# Finds the third-party packages. Nothing is ever downloaded here: scripts/bootstrap does that, or the user's modules.
# The names under which each system offers a package stand once, in scripts/packages.txt.
get_filename_component(ASSAY_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(EXISTS "${ASSAY_ROOT}/.deps" AND NOT CMAKE_CROSSCOMPILING)  # the wheel is for this machine
  list(APPEND CMAKE_PREFIX_PATH "${ASSAY_ROOT}/.deps")  # appended: what the user names comes first
endif()
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # Boost's own config file
endif()

# Sets <variable> to how to get a package, for messages.
function(assay_how_to_get package variable)
  set(text "install it and name its prefix in CMAKE_PREFIX_PATH")
  file(STRINGS "${ASSAY_ROOT}/scripts/packages.txt" lines REGEX "^${package} ")
  if(lines)
    list(GET lines 0 line)
    separate_arguments(row UNIX_COMMAND "${line}")
    list(POP_FRONT row name group debian spack conda module)
    set(text "run scripts/bootstrap, or")
    foreach(system IN ITEMS debian spack conda module)
      if(NOT "${${system}}" STREQUAL "-")
        string(APPEND text " ${system}: ${${system}},")
      endif()
    endforeach()
    string(APPEND text " and name its prefix in CMAKE_PREFIX_PATH")
  endif()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

macro(assay_require package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND ASSAY_MISSING ${package})
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
assay_require(Threads)
assay_require(OpenMP COMPONENTS CXX)
assay_require(nlohmann_json 3.9)
assay_require(fmt 8)
assay_require(CLI11)
assay_require(benchmark 1.6)
assay_require(valijson MODULE)
assay_require(Hwloc)
assay_require(Eigen3 3.3)
assay_require(Boost 1.71)
assay_require(Random123 MODULE)
if(BUILD_TESTING)
  assay_require(GTest)
endif()

if(ASSAY_MISSING AND NOT ASSAY_PROBE)  # all of them at once, not one a run
  foreach(package IN LISTS ASSAY_MISSING)
    assay_how_to_get(${package} how)
    message(SEND_ERROR "${package} is missing (not in the system's folders, nor in CMAKE_PREFIX_PATH). To get it: ${how}.")
  endforeach()
  message(FATAL_ERROR "Packages are missing (${ASSAY_MISSING}). Run scripts/bootstrap, or load their modules.")
endif()
