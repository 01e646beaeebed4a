#pragma once
// `assay table --by PARAMETER`: the values of one parameter side by side.

#include <map>
#include <string>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"

namespace assay {

struct TableOptions;

/// Series that differ only in one parameter.
struct PivotLine {
  const Series* any;                            ///< one of them, for the properties that they share
  std::map<std::string, const Series*> series;  ///< by value of the parameter
};
struct Pivot {
  /// Ratios are those to the first. Values that none can be set against come last.
  std::vector<std::string> values;
  std::vector<PivotLine> lines;
};
/// The number of the same case at the first value, in the form of Baseline::match; null if there is
/// none, with the reason in `why`.
nlohmann::json beside_first(const PivotLine& line, const Pivot& pivot, const Series& series,
                            const std::string& by, std::string* why = nullptr);
/// `results`: those of the series.
Pivot pivot_of(const std::vector<NamedResult>& results, const std::vector<Series>& all,
               const std::string& by);

/// Sorts the values numerically if all are counts (threads: 2, 4, 16).
void sort_counts(std::vector<std::string>& values);

/// One line per case, ignoring `options.by`; a column for each value of `options.by`, and the ratio
/// of each to the first; reasons for missing numbers below. On a terminal a table for each
/// benchmark where one of all would be too wide. InputError if no row has the parameter.
void add_pivot(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
               const TableOptions& options);

}  // namespace assay
