#pragma once
// Whether the runs of a comparison are different runs, made in an order that allows conclusions.

#include <string>
#include <vector>

#include "analysis/compare/side.hpp"

namespace assay {

/// Notes about launches that were not interleaved. InputError where two sides are the same run, and
/// where the fresh launches are not fresh: they are the screen's own, or they began before it
/// ended. `fresh_base` and `fresh_new` are null, or both given. `vary` as on the command line.
std::vector<std::string> check_runs(const Side& base, const Side& updated, const Side* fresh_base,
                                    const Side* fresh_new, const std::string& vary);

}  // namespace assay
