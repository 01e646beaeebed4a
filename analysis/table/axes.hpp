#pragma once
// Which parameters of the rows are columns of a table, and which are constant and printed once
// above it.

#include <set>
#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/text_table.hpp"

namespace assay {

struct Axes {
  std::vector<std::string> shown;  ///< parameters with a column
  /// "all rows: cache hot, threads 2" and, for each benchmark, "conv: layout any": parameters that
  /// do not differ.
  std::vector<std::string> constants;
};

/// The text of a parameter in a table; for "algorithm", the one that ran.
std::string axis_text(const Series& series, const std::string& name);

/// Adds a column for each of these parameters, whose lines are those of the series.
void add_axes(Table& table, const std::vector<Series>& rows, const std::vector<std::string>& axes);

/// The parameters that differ within a benchmark, in a fixed order of importance. A parameter that
/// repeats the problem in every row is neither shown nor a constant. `by` has no column of its own.
/// InputError with the nearest name if no row has the parameter `by`. `told`: parameters that are
/// told elsewhere.
Axes axes_of(const std::vector<Series>& all, const std::string& by,
             const std::set<std::string>& told = {});

/// The parameters that all rows have with the same value, whatever their benchmark.
std::set<std::string> shared_parameters(const std::vector<Series>& all);

/// All parameters of the rows, in the same order.
std::vector<std::string> parameter_names(const std::vector<Series>& all);

/// Applies --columns: {} changes nothing, {"all"} shows every parameter, else the named parameters
/// are shown.
void choose(Axes& axes, const std::vector<Series>& all, const std::string& by,
            const std::vector<std::string>& columns);

}  // namespace assay
