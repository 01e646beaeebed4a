#pragma once
// The columns of a table with a line for each series.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"
#include "analysis/table/axes.hpp"
#include "core/result/baseline.hpp"

namespace assay {

/// The least Field::spare of the columns that a table which is too wide goes without: numbers that
/// say more about a row, and none about how fast it is. Only where this does not suffice is a table
/// taken apart, or does it lose another system's numbers, the interval, then the rate.
inline constexpr int spared_first = 4;

struct Field {
  std::string key;  ///< name for --columns
  std::string title;
  bool right = false;  ///< aligned right, for numbers
  bool shown = true;   ///< without --columns
  /// Empty for series without a number; the column is left out if it is empty for all.
  bool measured = false;
  /// Above 0: left out if the table is too wide, the greatest first.
  int spare = 0;
  std::function<std::string(const Series&, Legend&)> cell;
  /// Whether the legend keeps its lines where the column is left out because it is empty.
  bool told = false;
};

/// The input of the fields; `results` and the baselines must outlive them.
struct FieldSource {
  const std::vector<NamedResult>& results;
  const std::vector<Series>& all;
  const Axes& axes;
  const std::vector<std::pair<std::string, const Baseline*>>& systems;
  bool absolutes = false;
};

/// All fields, in the order of a table: what was run, then what was measured, then the numbers of
/// other systems.
std::vector<Field> fields_of(const FieldSource& source);

/// The fields of the first kind alone: what was run.
std::vector<Field> fields_of_case(const FieldSource& source);

/// The problem list that all problems are from ("deepbench-train"), else "".
std::string common_list(const std::vector<Series>& all);

}  // namespace assay
