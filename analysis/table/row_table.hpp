#pragma once
// The table with a line for each series.

#include <string>
#include <utility>
#include <vector>

#include "analysis/series.hpp"
#include "core/result/baseline.hpp"

namespace assay {

struct TableOptions;

/// Title, table and legend. Without options.columns: the columns that tell rows apart, with
/// unsupported rows folded to one line. On a terminal, where the table would be wider than
/// table_width, spare columns are left out; where that does not suffice, each benchmark has a
/// table, and problems stand above their rows.
std::string row_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                      const std::vector<std::pair<std::string, const Baseline*>>& systems,
                      const TableOptions& options);

}  // namespace assay
