#pragma once
// `assay burn`: a suite burns in on all cores of an allocation at once.

#include "core/program/command.hpp"

namespace assay {

/// Starts `assay run --burn` once for each slot (so many cores of a node), each bound to its cores,
/// and then, with --launcher, cases of several ranks in one job. Writes OUT/result.json of all
/// rows, also if a signal ends it. Prints the table. Returns the exit code.
int run_burn(const Arguments& arguments);

}  // namespace assay
