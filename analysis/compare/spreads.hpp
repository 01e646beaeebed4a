#pragma once
// A comparison of launches that holds its rate also where the two sides spread differently.

#include <optional>
#include <span>

#include "core/base/statistics.hpp"

namespace assay {

/// Part of each side's launches that is trimmed at either end.
inline constexpr double trimmed_part = 0.2;

/// Two-sided p of Yuen's test (Biometrika 61, 1974): Welch's t test on the logarithms with their
/// outer fifths trimmed, the variances winsorised, each side with its own, and Welch's degrees of
/// freedom. Trimmed, so that one slow launch of five hides no change. 1 with fewer than two
/// launches on a side.
double trimmed_welch_p(std::span<const double> base, std::span<const double> updated);

/// compare_launches, with the larger of its p and trimmed_welch_p: what the fresh launches of a
/// flagged row show. The rank sum is exact where the launches of both sides are exchangeable and
/// nothing changed, whatever their distribution; where one side spreads more it rejects 3 to 7
/// times too often at small rates, and a studentised permutation of its rank statistic (Neubert &
/// Brunner 2007) still 2 to 3 times with as many launches. Welch's test is near its rate under any
/// spreads. Where either test holds the rate the larger p holds it.
LaunchComparison compare_fresh(std::span<const double> base, std::span<const double> updated,
                               double confidence);

/// minimum_detectable of compare_fresh: the larger of the rank sum's and of the trimmed test's.
std::optional<double> fresh_detectable(std::span<const double> base,
                                       std::span<const double> updated, double alpha, double power);

}  // namespace assay
