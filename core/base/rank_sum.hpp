#pragma once
// The distribution of the rank sum (Wilcoxon, Mann-Whitney) of two groups. Internal to
// statistics.cpp and its tests.

#include <cstddef>
#include <span>

namespace assay {

/// Two-sided p of the rank sum of the first `first` of `ranks` (midranks of both groups together):
/// the exact permutation distribution, ties included: P(|W - mean| >= |w - mean|).
double rank_sum_p(std::span<const double> ranks, std::size_t first);

/// Largest k with P(U <= k - 1) <= alpha / 2 for groups of m and n without ties: the shift lies
/// between the k-th smallest and the k-th largest of the m n differences with probability >= 1 -
/// alpha. 0 where m and n are too small for alpha.
std::size_t rank_sum_critical(std::size_t m, std::size_t n, double alpha);

struct RankSumMoments {
  double mean = 0, deviation = 0;
};
/// Mean and standard deviation under the permutation distribution (the tie correction is in it).
RankSumMoments rank_sum_moments(std::span<const double> ranks, std::size_t first);

}  // namespace assay
