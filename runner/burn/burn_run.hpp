#pragma once
// `assay burn`: a suite burns in on all cores of an allocation at once.

#include "core/program/command.hpp"

namespace assay {

/// Starts `assay run --burn` once for each slot (a number of cores of a node), bound to its cores;
/// then, with --launcher, cases of several ranks in one job. Writes OUT/result.json with all rows,
/// even if a signal ends it. Prints the table. Returns the exit code.
int run_burn(const Arguments& arguments);

}  // namespace assay
