#pragma once
// Finds the ranks of a job that ended too early without a report.

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// The ranks without a line "rank N on HOST: …" in `log` after the last case that ended: "rank 1
/// (process 4711 on NODE) did not report", "ranks 2, 3 on NODE did not report". A rank reports its
/// own failures (core/measure/rank_failure.hpp) and a signal that ends it
/// (core/base/signal_note.hpp); a rank that is killed, stopped or cut off cannot. `processes`
/// (process ids) and `hosts`: of all ranks, by rank. "" for a job of one rank, and if all ranks
/// have reported.
std::string list_silent_ranks(const std::filesystem::path& log,
                              const std::vector<std::string>& processes,
                              const std::vector<std::string>& hosts);

}  // namespace assay
