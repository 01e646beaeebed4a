#pragma once
// The cells of a table for rates, and for the part of the ceiling.

#include <optional>
#include <string>

#include "analysis/page.hpp"
#include "analysis/series.hpp"

namespace assay {

/// The main rate of a row: bus bandwidth of a collective; a rate that its problem declares
/// (images_per_s); FLOP/s, or B/s if the problem moves more bytes than it executes operations
/// (STREAM); else the first rate of the row. A published row may have a rate and no time. The
/// legend gets what the rate means.
std::string rate_cell(const Series& series, Legend& legend);
std::optional<double> main_rate(const Series& series);

/// algbw or busbw of a collective, in a column of its own.
std::string bandwidth_cell(const Series& series, const std::string& name, Legend& legend);
bool has_bandwidth(const Series& series);
inline constexpr const char* bandwidths_note =
    "algbw: message size / time. busbw: algbw times the collective's factor of nccl-tests, "
    "comparable with the bandwidth of a link.";

bool has_ceiling(const Series& series);
/// The fraction of the ceiling: the median of the launches.
std::optional<double> ceiling_fraction(const Series& series);
/// "87 % memory": that fraction, and what limits the row; "-" without a ceiling.
std::string ceiling_cell(const Series& series, Legend& legend);

/// Adds to the legend, for each machine whose rows have ceilings, the measured ceilings and the
/// theoretical ones from the vendor's documents.
void note_ceilings(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                   Legend& legend);

}  // namespace assay
