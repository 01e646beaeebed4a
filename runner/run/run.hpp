#pragma once
// Runs suites: from the first process to result.json in the folder of each run.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "runner/run/run_plan.hpp"

namespace assay {

/// A run ended before its last case. Finished rows are in the journal.
class Unfinished : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs the plans side by side and returns their results: launch by launch, within a launch one
/// plan after the other in a recorded random order. So drifts of the machine (temperature, other
/// users) affect all sides equally, which makes two builds comparable. All plans must have the same
/// number of launches. InputError before anything is measured; folders that were created for the
/// run are then removed. Unfinished if something ends the run early (a signal, a full disk).
std::vector<nlohmann::json> run_side_by_side(std::vector<RunPlan> plans);

}  // namespace assay
