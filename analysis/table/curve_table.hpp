#pragma once
// The table of alpha and beta of collectives, printed below their rows.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// A line for each curve of at least 3 sizes; "" where there is none.
std::string curve_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        bool markdown);

}  // namespace assay
