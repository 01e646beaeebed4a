#pragma once
// Speedup and parallel efficiency over ranks, printed below a table of rows.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// A line for each point of each curve over ranks (analysis/scaling_curves.hpp); "" without curves.
std::string scaling_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                          bool markdown);

}  // namespace assay
