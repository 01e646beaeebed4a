#pragma once
// Processes that are started with another allocator (core/program/allocator.hpp).

#include <filesystem>
#include <vector>

#include "analysis/run/campaign.hpp"

namespace assay {

/// The cases of a benchmark by their allocator, each part with what its processes are started with;
/// none where there are no cases. Where the dynamic linker does not find an allocator, nothing is
/// preloaded, and the cases tell that they are unsupported.
std::vector<PlannedBenchmark> by_allocator(PlannedBenchmark benchmark,
                                           const std::filesystem::path& scratch);

}  // namespace assay
