#pragma once
// Whether the clocks of a history tell which run was the last.

#include <string>
#include <vector>

#include "analysis/history/points.hpp"

namespace assay {

/// A line for each pair of runs of which the clocks do not tell the last one of a series, and for
/// each last run that began in the future of `now`; of many the first ones and their number. Two
/// runs of one host have one clock; those of two hosts are in order only if one had ended, by its
/// own clock, before the other began.
std::vector<std::string> doubts_of_order(const std::vector<NamedResult>& results,
                                         const Histories& histories, double now = seconds_now());

}  // namespace assay
