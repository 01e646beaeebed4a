#pragma once
// Every ratio that a command shows is a speedup: above 1 the first-named side is faster. Result
// files and documents contain some ratios of times; these functions convert them to speedups.

#include <optional>
#include <string>

#include "core/base/statistics.hpp"

namespace assay {

/// The speedup of the first over the second, from their times.
double speedup(double first_s, double second_s);
/// The speedup of A over B, from "time of A / time of B".
double compute_speedup(double time_ratio);
Interval compute_speedup(const Interval& time_ratio);
/// Nothing if the ratio is unknown or not above 0.
std::optional<double> compute_speedup(const std::optional<double>& time_ratio);
std::optional<Interval> compute_speedup(const std::optional<Interval>& time_ratio);

/// "A over B": the title of a column of speedups.
std::string over(const std::string& first, const std::string& second);
/// "speedup: A over B, above 1 A is faster": an explanation below a table.
std::string format_speedup_header(const std::string& first, const std::string& second);

}  // namespace assay
