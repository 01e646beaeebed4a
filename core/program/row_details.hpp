#pragma once
// The additional text that --verbose prints for a row.

#include <string>

#include "core/result/row.hpp"

namespace assay {

/// How the row was measured and verified: "57 samples of 2 runs, stopped by precision; largest
/// error 3e-07"; "" if it was neither.
std::string row_details(const Row& row);

}  // namespace assay
