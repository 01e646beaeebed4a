# plotly.min.js (plotly.js, MIT), which `assay report` puts into its page; the PyPI wheel `plotly` holds it. Without it the
# page has tables and no plots. Variable: PlotlyJs_FILE.
file(GLOB plotly_folders "${CMAKE_CURRENT_LIST_DIR}/../.deps/lib/python*/site-packages/plotly/package_data")
if(PlotlyJs_FILE AND NOT EXISTS "${PlotlyJs_FILE}")
  unset(PlotlyJs_FILE CACHE)  # .deps has been made anew
endif()
find_file(PlotlyJs_FILE plotly.min.js HINTS ${plotly_folders}
          PATH_SUFFIXES share/javascript/plotly share/nodejs/plotly.js/dist share/plotly NO_CMAKE_FIND_ROOT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PlotlyJs REQUIRED_VARS PlotlyJs_FILE)
mark_as_advanced(PlotlyJs_FILE)
