# cuDNN, of the system, beside the CUDA toolkit, or of a wheel: its prefix in CMAKE_PREFIX_PATH, or in .deps (wheels have the
# library under its run-time name alone). Target: CUDNN::cudnn
file(GLOB cudnn_wheels "${CMAKE_CURRENT_LIST_DIR}/../.deps/lib/python*/site-packages/nvidia/cudnn")
find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${cudnn_wheels} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
set(CUDNN_VERSION "")
set(CUDNN_VERSION_MAJOR "")
if(CUDNN_INCLUDE_DIR)
  foreach(part IN ITEMS MAJOR MINOR PATCHLEVEL)
    file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" line REGEX "^#define CUDNN_${part} +[0-9]+")
    string(REGEX MATCH "[0-9]+$" number "${line}")
    list(APPEND cudnn_numbers "${number}")
  endforeach()
  list(GET cudnn_numbers 0 CUDNN_VERSION_MAJOR)
  list(JOIN cudnn_numbers "." CUDNN_VERSION)
  unset(cudnn_numbers)
endif()
get_filename_component(cudnn_prefix "${CUDNN_INCLUDE_DIR}" DIRECTORY)
# NAMES_PER_DIR: else the system's libcudnn.so would come before a wheel's libcudnn.so.9, whose headers were found.
find_library(CUDNN_LIBRARY NAMES cudnn "libcudnn.so.${CUDNN_VERSION_MAJOR}" NAMES_PER_DIR
             HINTS "${cudnn_prefix}" ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES IMPORTED_LOCATION "${CUDNN_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
endif()
