#include "core/base/rank_sum.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace assay {
namespace {

/// Probabilities of the sums of a random subset of `size` of `scores` (Streitberg & Röhmel's shift
/// algorithm). Counts reach C(100, 50) = 1e29. As doubles they keep 15 digits, because only
/// positive numbers are added.
std::vector<double> subset_sums(const std::vector<std::size_t>& scores, std::size_t size) {
  const std::size_t most = std::accumulate(scores.begin(), scores.end(), std::size_t{0});
  std::vector<std::vector<double>> count(size + 1, std::vector<double>(most + 1, 0.0));
  count[0][0] = 1;
  std::size_t so_far = 0;
  for (const std::size_t score : scores) {
    so_far += score;
    for (std::size_t k = size; k >= 1; --k) {
      for (std::size_t sum = so_far; sum + 1 > score; --sum) {
        count[k][sum] += count[k - 1][sum - score];
        if (sum == score) break;
      }
    }
  }
  std::vector<double>& result = count[size];
  const double all = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& value : result) value /= all;
  return std::move(result);
}

/// The distribution of the sums of `first` of the ranks 1 … n. It is kept for the life of the
/// process: the rows of a suite have the same number of launches, and seldom a tie.
const std::vector<double>& count_untied_sums(std::size_t first, std::size_t n) {
  static std::mutex guard;
  static std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> known;
  const std::lock_guard lock(guard);
  std::vector<double>& sums = known[{first, n}];  // a map's elements stay where they are
  if (sums.empty()) {
    std::vector<std::size_t> scores(n);
    std::iota(scores.begin(), scores.end(), std::size_t{1});
    sums = subset_sums(scores, first);
  }
  return sums;
}

bool has_ties(std::vector<std::size_t> scores) {
  std::sort(scores.begin(), scores.end());
  return std::adjacent_find(scores.begin(), scores.end()) != scores.end();
}

/// P(|W - mean| >= |found - mean|).
double two_sided(const std::vector<double>& probability, double mean, double sum_of_scores) {
  double p = 0;
  for (std::size_t sum = 0; sum < probability.size(); ++sum)
    if (std::abs(static_cast<double>(sum) - mean) >= std::abs(sum_of_scores - mean) - 1e-9)
      p += probability[sum];
  return std::min(p, 1.0);
}

}  // namespace

double compute_rank_sum_p(std::span<const double> ranks, std::size_t first) {
  // Twice the midranks are integers.
  std::vector<std::size_t> scores;
  for (const double rank : ranks) scores.push_back(static_cast<std::size_t>(std::lround(2 * rank)));
  const auto end = scores.begin() + static_cast<std::ptrdiff_t>(first);
  const auto first_scores =
      static_cast<double>(std::accumulate(scores.begin(), end, std::size_t{0}));
  const auto total =
      static_cast<double>(std::accumulate(scores.begin(), scores.end(), std::size_t{0}));
  const double mean = total * static_cast<double>(first) / static_cast<double>(scores.size());
  if (!has_ties(scores))
    return two_sided(count_untied_sums(first, scores.size()), mean / 2, first_scores / 2);
  return two_sided(subset_sums(scores, first), mean, first_scores);
}

std::size_t rank_sum_critical(std::size_t m, std::size_t n, double alpha) {
  const std::vector<double>& probability = count_untied_sums(m, m + n);
  const std::size_t least = m * (m + 1) / 2;  // U = W - least
  std::size_t k = 0;
  double tail = probability[least];
  while (tail <= alpha / 2 * (1 + 1e-12)) tail += probability[least + ++k];
  return k;
}

RankSumMoments compute_rank_sum_moments(std::span<const double> ranks, std::size_t first) {
  const auto all = static_cast<double>(ranks.size());
  const auto size = static_cast<double>(first);
  const double mean = std::accumulate(ranks.begin(), ranks.end(), 0.0) / all;
  double squares = 0;
  for (const double rank : ranks) squares += (rank - mean) * (rank - mean);
  // Sampling `first` of them without replacement.
  return {size * mean, std::sqrt(size * (all - size) / (all * (all - 1)) * squares)};
}

}  // namespace assay
