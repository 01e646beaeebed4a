#pragma once
// Files hold SI units without prefix; people read numbers with one. Three significant digits: no
// benchmark is more exact.

#include <string>

namespace assay {

std::string human_seconds(double seconds);  ///< "1.23 ms"
/// "1.23 .. 4.56 ms", or "789 µs .. 1.23 ms" where the units differ.
std::string human_range(double low_seconds, double high_seconds);
/// `value` with an SI prefix: human(1.85e11, "FLOP/s") is "185 GFLOP/s".
std::string human(double value, const std::string& unit);
std::string human_error(double error);  ///< "3.1e-07", "0"

/// A rate of a result's row, with the unit that its name ends in: "flops_per_s" is FLOP/s,
/// "bytes_per_s" and a bandwidth ("busbw") are B/s, "images_per_s" is images/s. "loads_per_s" is
/// shown as the latency that it means, "96.4 ns/load".
std::string human_rate(const std::string& name, double rate);
/// What the unit of a rate does not say of its name: "busbw", "algorithmic" of
/// "algorithmic_flops_per_s", "" of "flops_per_s".
std::string rate_label(const std::string& name);

}  // namespace assay
