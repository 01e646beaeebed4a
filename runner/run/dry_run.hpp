#pragma once
// `assay run --list` and `--dry-run`: what a run would do, without timing anything.

#include <string>
#include <vector>

#include "runner/run/run_plan.hpp"

namespace assay {

/// The ids of the cases, one per line, with the names of their problems in problem lists.
std::string listed(RunPlan plan);

/// Cases, launches, the commands that start them and an estimate of the time for timed iterations,
/// of one run or of several alternating ones. For a run that would be resumed, only the remaining
/// cases count. Writes nothing to the folders of the plans.
std::string dry_run(std::vector<RunPlan> plans);

}  // namespace assay
