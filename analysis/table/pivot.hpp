#pragma once
// Tables with one parameter's values side by side.

#include <map>
#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

struct TableOptions;

/// Series that differ in one parameter alone, side by side.
struct PivotLine {
  const Series* any;                            ///< for what they share
  std::map<std::string, const Series*> series;  ///< by value of the parameter
};
struct Pivot {
  std::vector<std::string> values;  ///< the first is what the others are set against
  std::vector<PivotLine> lines;
};
/// The first value's number for the same case as Baseline::match gives it; null with the reason.
nlohmann::json beside_first(const PivotLine& line, const Pivot& pivot, const Series& series,
                            const std::string& by, std::string* why = nullptr);
Pivot pivot_of(const std::vector<Series>& all, const std::string& by);

/// Where all values are counts, as those of threads: in their order (2, 4, 16).
void sort_counts(std::vector<std::string>& values);

/// One line per case without `options.by`, a column for each of its values, and the ratio of each
/// to the first; reasons below. InputError if no row has the parameter.
std::string pivot_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        const TableOptions& options);

}  // namespace assay
