#pragma once
// Starts processes with another memory allocator (core/program/allocator.hpp).

#include <filesystem>
#include <vector>

#include "analysis/run/campaign.hpp"

namespace assay {

/// Splits a benchmark by the allocator of its cases; each part has the command words that preload
/// its allocator. Empty if there are no cases. If the dynamic linker does not find an allocator,
/// nothing is preloaded, and its cases report that they are unsupported.
std::vector<PlannedBenchmark> by_allocator(PlannedBenchmark benchmark,
                                           const std::filesystem::path& scratch);

}  // namespace assay
