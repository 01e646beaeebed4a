#pragma once
// Command lines that people can paste into a shell: the one that measures a row again.

#include <string>

#include "core/result/row.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// The command for a shell: the settings of the environment that change times, the launcher, the
/// program, the parameters of the row, the seed and the timing of its run, and `launches`. "" for a
/// published row. No environment value that names a file is included: a result must not choose the
/// files that are loaded.
std::string repeat_command(const RunHeader& run, const ResultEnvironment& environment,
                           const Row& row, std::size_t launches = 1);

/// A word quoted for a shell: what comes from a file must not run when it is pasted.
std::string shell_word(const std::string& word);

}  // namespace assay
