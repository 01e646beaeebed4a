# assay_add_library_and_programs(<folder>)
# For the calling folder and each subfolder without a CMakeLists.txt (an operation), *.cpp without mains become the
# static library assay_<folder>; <name>_main.cpp becomes the program assay-<name>. A subfolder with a benchmark.cpp is
# the program assay-<subfolder>, whose main is generated: it calls <subfolder>_benchmark() of <subfolder>/benchmark.hpp,
# which is generated, too, where the subfolder has none. Then every subfolder that has a CMakeLists.txt (a backend) is
# added. Adding a kernel or a backend edits no file. Further arguments: libraries that the library links publicly beside
# assay_core.
function(assay_add_library_and_programs folder)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  file(GLOB below CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/*.cpp")
  foreach(source IN LISTS below)
    get_filename_component(subfolder "${source}" DIRECTORY)
    if(NOT EXISTS "${subfolder}/CMakeLists.txt")
      list(APPEND sources "${source}")
    endif()
  endforeach()
  set(mains ${sources})
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  list(FILTER mains INCLUDE REGEX "_main\\.cpp$")
  foreach(source IN LISTS sources)
    if(source MATCHES "/([^/]+)/benchmark\\.cpp$")
      set(name "${CMAKE_MATCH_1}")
      set(header "${folder}/${name}/benchmark.hpp")
      if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${header}")
        file(STRINGS "${source}" definition REGEX "^const [A-Za-z]+& ${name}_benchmark\\(\\)")
        string(REGEX MATCH "[A-Za-z]*Benchmark" type "${definition}")
        configure_file("${PROJECT_SOURCE_DIR}/cmake/benchmark.hpp.in" "${ASSAY_GENERATED_DIRECTORY}/${header}" @ONLY)
      endif()
      set(main "${CMAKE_CURRENT_BINARY_DIR}/${name}_main.cpp")
      configure_file("${PROJECT_SOURCE_DIR}/cmake/benchmark_main.cpp.in" "${main}" @ONLY)
      list(APPEND mains "${main}")
    endif()
  endforeach()

  set(library "assay_${folder}")
  if(sources)
    add_library(${library} STATIC ${sources})
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)  # plugins link it too
    target_link_libraries(${library} PUBLIC assay_core ${ARGN} PRIVATE assay_warnings)
    assay_unity_build(${library} ${sources})
  else()
    add_library(${library} INTERFACE)  # headers alone, so far
    target_link_libraries(${library} INTERFACE assay_core ${ARGN})
  endif()

  foreach(main IN LISTS mains)
    string(REGEX REPLACE "^.*/([^/]+)_main\\.cpp$" "\\1" name "${main}")
    string(REPLACE "_" "-" name "${name}")
    assay_add_program(assay-${name} SOURCES "${main}" LIBRARIES ${library})
  endforeach()

  assay_add_subfolders()
endfunction()

# assay_add_program(<name> SOURCES … [LIBRARIES …]): an executable in <build>/bin, installed, on the core.
function(assay_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE assay_core ${arg_LIBRARIES} assay_warnings)
  set_target_properties(${name} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS ${name} RUNTIME DESTINATION bin)
  set_property(GLOBAL APPEND PROPERTY ASSAY_PROGRAMS ${name})
endfunction()

# Adds every direct subfolder of the calling folder that has a CMakeLists.txt.
function(assay_add_subfolders)
  file(GLOB lists CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
  foreach(list IN LISTS lists)
    get_filename_component(folder "${list}" DIRECTORY)
    add_subdirectory("${folder}")
  endforeach()
endfunction()
