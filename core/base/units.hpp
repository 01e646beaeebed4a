#pragma once
// Numbers with SI prefixes for people; files have SI units without prefix. Three significant
// digits, since no benchmark is more exact.

#include <string>

namespace assay {

std::string format_seconds(double seconds);  ///< "1.23 ms"
/// "1.23 .. 4.56 ms", or "789 µs .. 1.23 ms" where the units differ.
std::string format_seconds_range(double low_seconds, double high_seconds);
/// `value` with an SI prefix: format_with_unit(1.85e11, "FLOP/s") is "185 GFLOP/s".
std::string format_with_unit(double value, const std::string& unit);
std::string format_percentage(double part);  ///< "0.52 %", "5414 %": two digits at least
std::string format_error(double error);      ///< "3.1e-07", "0"

/// A rate of a row, with the unit that its name implies: "flops_per_s" has FLOP/s, "bytes_per_s"
/// and bandwidths ("busbw") have B/s, "images_per_s" has images/s. "loads_per_s" is shown as its
/// inverse, the latency: "96.4 ns/load".
std::string format_rate(const std::string& name, double rate);
/// The part of a rate's name that its unit does not show: "busbw" of "busbw", "algorithmic" of
/// "algorithmic_flops_per_s", "" of "flops_per_s".
std::string format_rate_label(const std::string& name);

}  // namespace assay
