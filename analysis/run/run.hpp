#pragma once
// Runs suites: from the first process to result.json in the folder of each run.

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "analysis/run/run_plan.hpp"

namespace assay {

/// A run ended before its last case. Finished rows are in the journal.
class Unfinished : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How long a resumed run waits for the previous run in its folder to end. A batch system may start
/// the next job while the processes of the previous one are still being terminated.
inline constexpr std::chrono::seconds patience_with_earlier(30);

/// Creates the folder and its log/, and locks it until this process ends, so that only one run uses
/// it at a time. On file systems without locks there is no protection. InputError if it cannot be
/// created, or another process holds the lock for longer than `patience`; waiting is reported on
/// stderr.
void hold_folder(const std::filesystem::path& folder, std::chrono::seconds patience);

/// Runs the plans side by side and returns their results: launch by launch, within a launch one
/// plan after the other in a recorded random order. So drifts of the machine (temperature, other
/// users) affect all sides equally, which makes two builds comparable. All plans must have the same
/// number of launches. InputError before anything is measured; folders that were created for the
/// run are then removed. Unfinished if something ends the run early (a signal, a full disk).
std::vector<nlohmann::json> run_side_by_side(std::vector<RunPlan> plans);

}  // namespace assay
