# Settings of every target: language, output layout, run-time paths, warnings.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# With ccache, a clone or a branch that was compiled before is not compiled again.
find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

# CMAKE_UNITY_BUILD compiles files in batches, which halves the time of a whole build. It holds for the targets of
# assay_unity_build: SIMD kernels include themselves once for each instruction set. A test's namespace is the name of its file.
set(unity_build "${CMAKE_UNITY_BUILD}")
set(CMAKE_UNITY_BUILD OFF)

# assay_unity_build(TARGET [MOST n] SOURCE...): a folder is one batch, so that a new file meets the names of its own folder
# alone; or several batches of at most n files.
# Written here and not by CMake's UNITY_BUILD, whose batches name their files by absolute paths (until CMake 4): ccache
# would never find those of another clone.
function(assay_unity_build target)
  if(NOT unity_build)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MOST" "")
  set(batches "")
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    get_source_file_property(alone "${source}" SKIP_UNITY_BUILD_INCLUSION)
    if(alone OR NOT source MATCHES "[.]cpp$")
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE include)
    cmake_path(GET include PARENT_PATH folder)
    string(REPLACE "/" "_" batch "${folder}")
    if(arg_MOST)
      list(LENGTH "members_${folder}" number)
      list(APPEND "members_${folder}" "${source}")
      math(EXPR number "${number} / ${arg_MOST}")
      string(APPEND batch "_${number}")
    endif()
    list(APPEND batches "${batch}")
    string(APPEND "text_${batch}" "#include \"${include}\"\n")
    set_source_files_properties("${source}" PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(REMOVE_DUPLICATES batches)
  foreach(batch IN LISTS batches)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_unity/${batch}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text_${batch}}" @ONLY)
    target_sources(${target} PRIVATE "${file}")
  endforeach()
endfunction()

# The build tree has the layout of the installed one: bin, lib, lib/assay (plugins), share/assay.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/archive")  # internal, never installed
set(ASSAY_PLUGIN_DIRECTORY "${PROJECT_BINARY_DIR}/lib/assay")
foreach(folder IN ITEMS suites results-schema scripts/launchers)
  set(link "${PROJECT_BINARY_DIR}/share/assay/${folder}")
  if(NOT IS_SYMLINK "${link}")
    get_filename_component(parent "${link}" DIRECTORY)
    file(MAKE_DIRECTORY "${parent}")
    file(RELATIVE_PATH target "${parent}" "${PROJECT_SOURCE_DIR}/${folder}")
    file(CREATE_LINK "${target}" "${link}" SYMBOLIC)
  endif()
endforeach()

# $ORIGIN-relative, so that both trees can be moved; the same in both (BUILD_WITH_INSTALL_RPATH of each target), since
# CMake would pad a build tree's own with empty entries, which the loader reads as the current folder.
# Libraries of a module or of Spack keep their absolute path.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

add_library(assay_warnings INTERFACE)
target_compile_options(assay_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic>)
# A kernel that calls code of the host compiles, works on the fakes, and fails on a GPU.
target_compile_options(assay_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Werror=cross-execution-space-call>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 (alone) warns of its own std::string, for "text" + string: GCC bug 105651.
  target_compile_options(assay_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
