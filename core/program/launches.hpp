#pragma once
// The flag --launches of a benchmark's program. The program starts itself once for each launch.

#include <string>
#include <vector>

#include "core/program/options.hpp"

namespace assay {

/// InputError if a launcher has started several processes: each of them would start its own
/// launches.
void expect_launches_possible(const RunRequest& request);

/// Runs the launches one after the other, each in a new process with the command line `arguments`
/// (launch_arguments()), and writes the rows of all of them to --out. `command`: the original
/// command line, for the result. Returns the exit code of the rows (exit_code()). CaseError if a
/// launch ends before its last case; its finished rows are then in the journal, and no result is
/// written.
int run_launches(const Benchmark& benchmark, const RunRequest& request,
                 const std::vector<std::string>& arguments, const std::string& command);

/// The command line of one launch: `argv` without --launches and --out.
std::vector<std::string> launch_arguments(const Benchmark& benchmark, int argc,
                                          const char* const* argv);

}  // namespace assay
