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
/// unsupported rows folded to one line. Where a table of several benchmarks would be wider than
/// table_width, each has its own. On a terminal, spare columns are left out, and problems stand
/// above their rows, where that makes a table fit.
std::string row_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                      const std::vector<std::pair<std::string, const Baseline*>>& systems,
                      const TableOptions& options);

}  // namespace assay
