#pragma once
// Checks that the runs of a comparison are different runs, and that their order in time allows
// conclusions.

#include <string>
#include <vector>

#include "analysis/compare/side.hpp"

namespace assay {

/// Returns notes about launches that were not interleaved. InputError if two sides are the same
/// run, or if the fresh launches are not fresh: they are those of the screen, or they began before
/// it ended. `fresh_base` and `fresh_new`: both null, or both given. `vary` as on the command line.
std::vector<std::string> check_runs(const Side& base, const Side& updated, const Side* fresh_base,
                                    const Side* fresh_new, const std::string& vary);

}  // namespace assay
