#pragma once
// The cells of a table that say how fast, beside the time: rate and part of the ceiling.

#include <optional>
#include <string>

#include "analysis/series.hpp"
#include "analysis/table/legend.hpp"

namespace assay {

/// The rate that a problem is about: bus bandwidth of a collective; operations, or bytes where it
/// moves more of them than it does operations (STREAM); else the first rate of its row. A published
/// row may have a rate and no time. The legend gets what the rate means.
std::string rate_cell(const Series& series, Legend& legend);
std::optional<double> main_rate(const Series& series);

/// algbw or busbw of a collective, in a column of its own.
std::string bandwidth_cell(const Series& series, const std::string& name, Legend& legend);
bool has_bandwidth(const Series& series);
inline constexpr const char* bandwidths_note =
    "algbw: message size / time. busbw: algbw times the collective's factor of nccl-tests, to be "
    "held against the bandwidth of a link.";

bool has_ceiling(const Series& series);
/// The median launch's fraction of its ceiling.
std::optional<double> ceiling_fraction(const Series& series);
/// "87 % memory": that fraction and what binds; "-" without one.
std::string ceiling_cell(const Series& series, Legend& legend);

/// Tells, for each machine whose rows have ceilings, what they were measured to be and what its
/// maker's documents promise.
void note_ceilings(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                   Legend& legend);

}  // namespace assay
