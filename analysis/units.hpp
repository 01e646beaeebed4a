#pragma once
// Files hold SI units without scale; people read scaled ones. Three significant digits: no
// benchmark is better.

#include <string>

namespace assay {

std::string human_seconds(double seconds);  ///< "1.23 ms"
/// `value` with an SI prefix: human(1.85e11, "FLOP/s") is "185 GFLOP/s".
std::string human(double value, const std::string& unit);
std::string human_error(double error);  ///< "3.1e-07", "0"

}  // namespace assay
