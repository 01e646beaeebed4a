#pragma once
// Result files as commands name them.

#include <string>
#include <vector>

#include "analysis/series.hpp"

namespace assay {

/// The result files that `names` mean, each read and checked: a file, the folder of a run (its
/// result.json), the name of a shipped baseline, or a folder with runs and result files somewhere
/// below it (other JSON files there are passed over). In the order given, within a folder by path.
/// A result is named as it was given, "" where it is the only one. InputError for what cannot be
/// read, for a folder without results, and for one file named twice.
std::vector<NamedResult> load_results(const std::vector<std::string>& names);

}  // namespace assay
