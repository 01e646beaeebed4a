#pragma once
// Launches rows of earlier runs again, for comparisons and confirmations.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner/run/run_plan.hpp"

namespace assay {

/// One side of a comparison: the plan of its run, and the ids of the cases to run again.
struct Again {
  std::string name;  ///< of its folder and in its progress lines
  RunPlan plan;
  std::vector<std::string> ids;
};

/// plan_of_result for a run that is compared: InputError also if it was made on other hardware,
/// since launches here would answer another question.
RunPlan plan_of_compared(const nlohmann::json& result, const Chosen& chosen);

/// Runs the cases of each side with `launches` launches, interleaved with the other sides; nothing
/// else of the plans changes. Returns the results, which are in `folder`/NAME of each side. The
/// same call continues an interrupted one. `command`: for the record. InputError and Unfinished as
/// run_side_by_side.
std::vector<nlohmann::json> run_again(std::vector<Again> sides, int launches,
                                      const std::filesystem::path& folder,
                                      const std::string& command);

}  // namespace assay
