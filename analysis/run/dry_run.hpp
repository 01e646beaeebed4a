#pragma once
// `assay run --list` and `--dry-run`: what a run would do, without timing anything.

#include <string>
#include <vector>

#include "analysis/run/run_plan.hpp"

namespace assay {

/// The ids of the cases, one a line, with the names that lists have for their problems.
std::string listed(RunPlan plan);

/// Cases, launches, the commands that start them and an estimate of the time for timed
/// iterations, for runs that take turns. A run that would be resumed counts what is left. Nothing
/// is written beside the plans.
std::string dry_run(std::vector<RunPlan> plans);

}  // namespace assay
