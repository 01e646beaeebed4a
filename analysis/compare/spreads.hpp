#pragma once
// A comparison of launches that keeps its false-alarm rate where the two sides spread differently.

#include <optional>
#include <span>

#include "core/base/statistics.hpp"

namespace assay {

/// Part of the launches of a side that is trimmed at each end.
inline constexpr double trimmed_part = 0.2;

/// Two-sided p of Yuen's test (Biometrika 61, 1974): Welch's t test on the logarithms with their
/// outer fifths trimmed, winsorised variances for each side, and Welch's degrees of freedom.
/// Because of the trimming, a single slow launch of five does not hide a change. 1 with fewer than
/// two launches on a side.
double trimmed_welch_p(std::span<const double> base, std::span<const double> updated);

/// compare_launches with the larger of its p and trimmed_welch_p: the test of the fresh launches of
/// a flagged row. The rank sum is exact for any distribution where nothing changed and the launches
/// of both sides are exchangeable. Where one side spreads more, it rejects 3 to 7 times too often
/// at small rates; a studentised permutation of the rank statistic (Neubert & Brunner 2007) still 2
/// to 3 times too often. Welch's test is near its rate for any spreads. The larger p keeps the rate
/// where either test keeps it.
LaunchComparison compare_fresh(std::span<const double> base, std::span<const double> updated,
                               double confidence);

/// minimum_detectable for compare_fresh: the larger of the values for the rank sum and the trimmed
/// test.
std::optional<double> fresh_detectable(std::span<const double> base,
                                       std::span<const double> updated, double alpha, double power);

}  // namespace assay
