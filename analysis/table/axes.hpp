#pragma once
// Chooses the parameters that become columns of a table, and the constant ones that are printed
// once above it.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/text_table.hpp"

namespace assay {

using Texts = std::vector<std::string>;

struct Axes {
  Texts shown;                            ///< parameters with a column
  Texts shared{};                         ///< properties of all rows: "cache hot"
  std::set<std::string> same{};           ///< the parameters among them
  std::map<std::string, Texts> within{};  ///< the same for each benchmark

  /// "all rows: cache hot, threads 2", "conv: layout any".
  Texts lines() const;
};

/// The text of a parameter in a table; for "algorithm", the one that ran.
std::string format_axis(const Series& series, const std::string& name);

/// Adds a column for each of these parameters; the lines of the table are those of the series.
void add_axes(Table& table, const SeriesList& rows, const Texts& axes);

/// The parameters that differ within a benchmark, in a fixed order of importance. A parameter that
/// repeats the problem in every row is neither shown nor a constant. `by` has no column of its own.
/// InputError with the nearest name if no row has the parameter `by`. `constant_names`: parameters
/// that are reported elsewhere.
Axes find_axes(const SeriesList& all, const std::string& by,
               const std::set<std::string>& constant_names = {});

/// All parameters of the rows, in the same order.
Texts list_parameter_names(const SeriesList& all);

/// Applies --columns: {} changes nothing, {"all"} shows every parameter, other lists show the named
/// parameters.
void choose(Axes& axes, const SeriesList& all, const std::string& by, const Texts& columns);

}  // namespace assay
