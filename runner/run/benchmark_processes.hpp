#pragma once
// The processes that a benchmark needs, and the plugins that they can open.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runner/run/campaign.hpp"
#include "runner/run/run_record.hpp"

namespace assay {

/// The plugins that the process with this environment has opened.
std::set<std::string> list_opened_plugins(const ResultEnvironment& environment);

/// The plugins of `benchmarks` that can be opened now, or that earlier processes of the run have
/// opened. `programs`: folder of the executables. Under a launcher only the latter count, because
/// this process may be on another node.
std::set<std::string> find_usable_plugins(const std::vector<PlannedBenchmark>& benchmarks,
                                          const std::filesystem::path& programs,
                                          const RunRecord& earlier);

/// Splits a benchmark into the processes that its cases need: one for each value of a dimension
/// that has one value per process (Case::one_per_process: the allocator, the BLAS library). Each
/// part has the command words that preload its allocator. Empty if there are no cases. If the
/// dynamic linker does not find an allocator, nothing is preloaded, and its cases report that they
/// are unsupported.
std::vector<PlannedBenchmark> by_process(PlannedBenchmark benchmark,
                                         const std::filesystem::path& scratch);

}  // namespace assay
