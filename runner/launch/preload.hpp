#pragma once
// Which processes a benchmark needs, and how they are started with another memory allocator
// (core/program/allocator.hpp).

#include <filesystem>
#include <vector>

#include "runner/run/campaign.hpp"

namespace assay {

/// Splits a benchmark into the processes that its cases need: one for each value of a dimension of
/// which a process has one (Case::one_per_process: the allocator, the BLAS library). Each part has
/// the command words that preload its allocator. Empty if there are no cases. If the dynamic linker
/// does not find an allocator, nothing is preloaded, and its cases report that they are
/// unsupported.
std::vector<PlannedBenchmark> by_process(PlannedBenchmark benchmark,
                                         const std::filesystem::path& scratch);

}  // namespace assay
