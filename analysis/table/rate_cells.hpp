#pragma once
// The cells of a table that say how fast, beside the time: rate and part of the ceiling.

#include <string>

#include "analysis/series.hpp"
#include "analysis/table/legend.hpp"

namespace assay {

/// Of what the problem is about: operations; bytes where it has more of them (STREAM); loads; of a
/// collective its busbw.
std::string rate_cell(const Series& series);

bool has_ceiling(const Series& series);
/// "87 % memory": the median launch's fraction of its ceiling; "-" without one.
std::string ceiling_cell(const Series& series, Legend& legend);

/// Tells, for each machine whose rows have ceilings, what they were measured to be and what its
/// maker's documents promise.
void note_ceilings(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                   Legend& legend);

}  // namespace assay
