#pragma once
// Command lines that people can paste into a shell: the one that measures a row again.

#include <string>

#include "core/result/row.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// The command for a shell: the settings of the environment that change times, the launcher, the
/// program, the parameters of the row, the seed and the timing of its run, and `launches`. "" for a
/// published row. It includes no environment value that names a file, because a result must not
/// choose the files that are loaded.
std::string make_repeat_command(const RunHeader& run, const ResultEnvironment& environment,
                                const Row& row, std::size_t launches = 1);

/// A word quoted for a shell, so that no part of a file's text runs when the line is pasted.
std::string shell_word(const std::string& word);

}  // namespace assay
