#pragma once
// The levels of a topology, as a text.

#include <string>
#include <vector>

namespace assay {

/// The numbers of members of levels, innermost first: "2x4x8". Empty for "auto". InputError for
/// numbers below 1, or more than 2^20 ranks.
std::vector<int> read_levels(const std::string& text);

}  // namespace assay
