#pragma once
// What --verbose prints of a row beside its number.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace assay {

/// "57 samples of 2 runs, stopped by precision; largest error 3e-07": how the row was measured and
/// verified; "" where it was neither.
std::string row_details(const nlohmann::json& row);

}  // namespace assay
