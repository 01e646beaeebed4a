#pragma once
// The columns that a table with a line for each series can have.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/series.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/legend.hpp"
#include "core/result/baseline.hpp"

namespace assay {

struct Field {
  std::string key;  ///< its name for --columns
  std::string title;
  bool right = false;  ///< numbers
  bool shown = true;   ///< where --columns is not given
  /// Only a series with a number has it, and a column of it without any is left out.
  bool measured = false;
  /// Above 0: left out where the table is too wide, the greatest first.
  int spare = 0;
  std::function<std::string(const Series&, Legend&)> cell;
};

/// What the fields read. It must outlive them.
struct FieldSource {
  const std::vector<NamedResult>& results;
  const std::vector<Series>& all;
  const Axes& axes;
  const std::vector<std::pair<std::string, const Baseline*>>& systems;
  bool absolutes = false;
};

/// All fields, in the order in which a table shows them: what was run, then what was measured, then
/// the other systems' numbers.
std::vector<Field> fields_of(const FieldSource& source);

/// The list that all problems are of ("deepbench-train"), which is then told once; else "".
std::string common_list(const std::vector<Series>& all);

}  // namespace assay
