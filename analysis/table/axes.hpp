#pragma once
// Which parameters of the rows are columns of a table, and which are told once above it.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

struct Axes {
  std::vector<std::string> shown;  ///< parameters with a column
  /// "all rows: cache hot, threads 2" and, for each benchmark, "conv: layout any": parameters that
  /// do not differ.
  std::vector<std::string> constants;
};

/// A parameter's text in a table; of the algorithm the one that ran.
std::string axis_text(const Series& series, const std::string& name);

/// The parameters that differ within a benchmark, those that everybody asks for first. A parameter
/// that repeats the problem in every row is neither shown nor a constant. `by` has no column of
/// its own. InputError with the nearest name if no row has the parameter `by`.
Axes axes_of(const std::vector<Series>& all, const std::string& by);

/// All parameters of the rows, those that everybody asks for first.
std::vector<std::string> parameter_names(const std::vector<Series>& all);

/// The axes with the columns that --columns asks for: {} leaves them, {"all"} is every parameter,
/// else those named that are parameters.
void choose(Axes& axes, const std::vector<Series>& all, const std::string& by,
            const std::vector<std::string>& columns);

}  // namespace assay
