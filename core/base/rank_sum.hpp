#pragma once
// The distribution of the rank sum of two groups (Wilcoxon 1945; Mann & Whitney 1947). Internal to
// statistics.cpp and its tests.

#include <cstddef>
#include <span>

namespace assay {

/// Two-sided p-value of the rank sum w of the first `first` elements of `ranks` (the midranks of
/// both groups together): P(|W - mean| >= |w - mean|) in the exact permutation distribution, ties
/// included.
double compute_rank_sum_p(std::span<const double> ranks, std::size_t first);

/// The largest k with P(U <= k - 1) <= alpha / 2, for groups of m and n values without ties. The
/// shift between the groups then lies between the k-th smallest and the k-th largest of the m * n
/// differences, with a probability of at least 1 - alpha. 0 if m and n are too small for alpha.
std::size_t rank_sum_critical(std::size_t m, std::size_t n, double alpha);

struct RankSumMoments {
  double mean = 0, deviation = 0;
};
/// Mean and standard deviation of the rank sum in the permutation distribution, ties included.
RankSumMoments compute_rank_sum_moments(std::span<const double> ranks, std::size_t first);

}  // namespace assay
