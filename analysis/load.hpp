#pragma once
// Reads the result files that a command names.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// Reads and checks the results that `names` stand for: a result file, the folder of a run (its
/// result.json), a shipped baseline, or a folder with runs and result files anywhere below it
/// (other JSON files are ignored). In the order given; within a folder by path. A result gets the
/// name that was given, "" where it is the only result. InputError for what cannot be read, for a
/// folder without results, and for a file that is given twice.
std::vector<NamedResult> load_results(const std::vector<std::string>& names);

}  // namespace assay
