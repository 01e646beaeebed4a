#pragma once
// Runs suites: from the first process to result.json in the folder of each run.

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "runner/run/run_plan.hpp"

namespace assay {

/// A run ended before its last case. Finished rows are in the journal.
class UnfinishedRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs the plans side by side and returns their results. In each launch, the plans run one after
/// the other, in a recorded random order. So drifts of the machine (temperature, other users)
/// affect all sides equally, which makes two builds comparable. All plans must have the same number
/// of launches. InputError before anything is measured; folders that were created for the run are
/// then removed. Unfinished if something ends the run early (a signal, a full disk).
std::vector<RunResult> run_side_by_side(std::vector<RunPlan> plans);

/// One side of a comparison: the plan of its run, and the ids of the cases to run again.
struct RepeatedSide {
  std::string name;  ///< of its folder and in its progress lines
  RunPlan plan;
  std::vector<std::string> ids;
};

/// plan_of_result for a run that is compared. InputError also if it was made on other hardware,
/// because launches here would answer another question.
RunPlan plan_of_compared(const RunResult& result, const AllowedPrograms& chosen);

/// Runs the cases of each side with `launches` launches, interleaved with the other sides;
/// otherwise the plans do not change. Returns the results, which are in `folder`/NAME of each side.
/// The same call continues an interrupted run. `command`: for the record. InputError and
/// UnfinishedRun as for run_side_by_side.
std::vector<RunResult> run_again(std::vector<RepeatedSide> sides, int launches,
                                 const std::filesystem::path& folder, const std::string& command);

/// `assay run --list`: the ids of the cases, one per line, with the names of their problems in
/// lists.
std::string list_cases(RunPlan plan);

/// `assay run --dry-run`: cases, launches, the commands that start them and an estimate of the time
/// for timed iterations, of one run or of several alternating ones. For a run that would be
/// resumed, only the remaining cases count. Writes nothing to the folders of the plans.
std::string dry_run(std::vector<RunPlan> plans);

}  // namespace assay
