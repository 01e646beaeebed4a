#pragma once
// `assay table --by PARAMETER`: the values of one parameter side by side.

#include <map>
#include <string>
#include <vector>

#include "analysis/table/beside.hpp"

namespace assay {

struct TableOptions;

/// Series that differ only in one parameter.
struct PivotLine {
  const Series* any;                              ///< one of them: all have its other properties
  std::map<std::string, const Series*> series{};  ///< by value of the parameter
};
struct Pivot {
  /// Ratios are those to the first value. Values that cannot be compared with any other come last.
  Texts values{};
  std::vector<PivotLine> lines{};
};
/// The number of the same case at the first value; nothing if there is none, or if it is this
/// series. The reason goes into `why`.
Match beside_first(const PivotLine& line, const Pivot& pivot, const Series& series,
                   const std::string& by, std::string* why);
Pivot make_pivot(const Results& results, const SeriesList& all, const std::string& by);

/// Sorts values that are all counts by size: 16 is after 8.
void sort_counts(Texts& values);

/// One line for each case, ignoring `options.by`; a column for each value of `options.by`, with its
/// ratio to the first; and below, the reasons for missing numbers. A terminal gets a table for each
/// benchmark if a common one would be too wide. InputError if no row has the parameter.
void add_pivot(Page& page, const Results& results, const SeriesList& all,
               const TableOptions& options);

}  // namespace assay
