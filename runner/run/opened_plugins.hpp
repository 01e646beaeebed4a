#pragma once
// Plugins that a run could open. A case that lacks one of them later is lost, not unsupported.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "runner/run/campaign.hpp"

namespace assay {

/// The plugins that the process of a "launch" event has opened.
std::set<std::string> opened_in(const nlohmann::json& launch);

/// The plugins of `benchmarks` that can be opened now, or that earlier processes of the run (in its
/// `events`) have opened. `programs`: folder of the executables. Under a launcher only the latter
/// count, since this process may be on another node.
std::set<std::string> opened_plugins(const std::vector<PlannedBenchmark>& benchmarks,
                                     const std::filesystem::path& programs,
                                     const std::vector<nlohmann::json>& events);

}  // namespace assay
