#pragma once
// --launches of a benchmark's program: the program starts itself once for each launch.

#include <string>
#include <vector>

#include "core/program/options.hpp"

namespace assay {

/// InputError under a launcher of several processes: each of them would start launches of its own.
void expect_launches_possible(const RunRequest& request);

/// Runs `arguments` (the command line of one launch, without --launches and --out) in new
/// processes, one after the other, and writes the rows of all launches to --out, as `assay run`
/// does with its journal. Returns the exit code that the rows ask for. CaseError if a launch ends
/// before its last case: what is finished stands in the journal, and no result is written.
int run_launches(const Benchmark& benchmark, const RunRequest& request,
                 const std::vector<std::string>& arguments, const std::string& command);

/// The command line of one launch: that of `argv` without --launches and --out.
std::vector<std::string> launch_arguments(const Benchmark& benchmark, int argc,
                                          const char* const* argv);

}  // namespace assay
