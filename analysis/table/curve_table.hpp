#pragma once
// Tables of curves, printed below their rows.

#include <vector>

#include "analysis/page.hpp"
#include "analysis/series.hpp"

namespace assay {

/// Below a blank line, a line with alpha and beta of each curve of a collective over at least 3
/// sizes; nothing where there is none.
void add_curves(Page& page, const std::vector<NamedResult>& results,
                const std::vector<Series>& all);

/// The same for speedup and parallel efficiency: a line for each point of each curve over ranks
/// (analysis/scaling_curves.hpp).
void add_scaling(Page& page, const std::vector<NamedResult>& results,
                 const std::vector<Series>& all);

}  // namespace assay
