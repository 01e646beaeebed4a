#include "core/base/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/binomial.hpp>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/base/rank_sum.hpp"

namespace assay {
namespace {

std::vector<double> sort_values(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

void need(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

double quantile_of_sorted(std::span<const double> values, double p) {
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= values.size()) return values.back();
  const double part = position - static_cast<double>(below);
  return part == 0 ? values[below] : values[below] + part * (values[below + 1] - values[below]);
}

/// Midranks 1 … n: equal values share the mean of their ranks.
std::vector<double> midranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    for (end = i; end < order.size() && values[order[end]] == values[order[i]];) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = (static_cast<double>(i + end) + 1) / 2;
  }
  return ranks;
}

/// Largest k with P(Binomial(n, 1/2) < k) <= (1 - confidence) / 2; 0: no order statistic is far
/// enough out.
int order_statistic(double n, double confidence) {
  const double tail = (1 - confidence) / 2;
  const boost::math::binomial_distribution<> half(n, 0.5);
  int k = std::max(0, static_cast<int>(boost::math::quantile(
                          half, tail)));  // within one, by Boost's rounding policy
  while (k + 1 <= n / 2 && boost::math::cdf(half, k) <= tail) ++k;
  while (k > 0 && boost::math::cdf(half, k - 1) > tail) --k;
  return k;
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  need(!values.empty(), "a quantile of no values (the list is empty). Give at least one value.");
  need(p >= 0 && p <= 1,
       "a quantile outside 0 to 1 (p is a probability). Give 0.95 for the 95th percentile.");
  return quantile_of_sorted(sort_values(values), p);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double mad(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> deviations(values.begin(), values.end());
  for (double& value : deviations) value = std::abs(value - centre);
  return median(deviations);
}

double count_effective_samples(std::span<const double> values) {
  const auto n = values.size();
  if (n < 4) return static_cast<double>(n);
  // Ranks are used because one outlier must neither hide nor create a correlation. With positive
  // dependence, the rank autocorrelation is at least that of the signs about the median, which
  // determines the variance of the median. So the interval is rather too wide.
  std::vector<double> x = midranks(values);
  const double mean = (static_cast<double>(n) + 1) / 2;
  double variance = 0;
  for (double& value : x) {
    value -= mean;
    variance += value * value;
  }
  if (variance == 0) return static_cast<double>(n);
  const auto correlation = [&](std::size_t lag) {
    double sum = 0;  // of multiples of 1/4: exact in any order
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < n - lag; ++i) sum += x[i] * x[i + lag];
    return sum / variance;
  };
  // Geyer (1992): for a reversible chain, sums of neighbouring pairs are positive and decrease.
  // Stop at the first sum that is not positive, and cap each sum at the previous one (the initial
  // monotone sequence).
  double tau = -1;
  double before = 2;
  for (std::size_t lag = 0; lag + 1 < n; lag += 2) {
    const double pair =
        std::min((lag == 0 ? 1.0 : correlation(lag)) + correlation(lag + 1), before);
    if (pair <= 0) break;
    tau += 2 * pair;
    before = pair;
  }
  return std::clamp(static_cast<double>(n) / std::max(tau, 1e-300), 1.0, static_cast<double>(n));
}

namespace {

Interval interval_of_sorted(std::span<const double> values, double effective, double confidence) {
  const auto n = static_cast<double>(values.size());
  const double independent = std::floor(effective);
  const int k = order_statistic(independent, confidence);
  if (k == 0) return {values.front(), values.back()};
  // The k-th of m independent values is at the fraction k / (m + 1) of the distribution. This takes
  // the sample's order statistic at that fraction, rounded outwards; for m == n exactly the k-th.
  const double place = std::floor(k * ((n + 1) / (independent + 1)) + 1e-9);
  const auto index = static_cast<std::size_t>(std::clamp(place, 1.0, n)) - 1;
  return {values[index], values[values.size() - 1 - index]};
}

}  // namespace

Interval compute_median_interval(std::span<const double> values, double confidence) {
  need(!values.empty(), "an interval of no values (the list is empty). Give at least one value.");
  need(confidence > 0 && confidence < 1,
       "a confidence outside 0 to 1 (it is a probability). Give 0.95.");
  return interval_of_sorted(sort_values(values), count_effective_samples(values), confidence);
}

Summary summarize(std::span<const double> samples) {
  need(!samples.empty(),
       "a summary of no samples (the list is empty). Time at least one iteration.");
  const std::vector<double> ordered = sort_values(samples);
  Summary summary;
  summary.n = static_cast<int>(samples.size());
  summary.n_effective = count_effective_samples(samples);
  summary.median = quantile_of_sorted(ordered, 0.5);
  summary.mad = mad(samples);
  summary.min = ordered.front();
  summary.p95 = quantile_of_sorted(ordered, 0.95);
  summary.p99 = quantile_of_sorted(ordered, 0.99);
  if (summary.n_effective >= least_for_interval)
    summary.ci95 = interval_of_sorted(ordered, summary.n_effective, 0.95);
  return summary;
}

double ratio_median(std::span<const double> ratios) {
  need(!ratios.empty(), "a median of no ratios (the list is empty). Give at least one.");
  const std::vector<double> ordered = sort_values(ratios);
  need(ordered.front() >= 0, "a ratio that is negative (a measurement is). Measure again.");
  const double low = ordered[(ordered.size() - 1) / 2], high = ordered[ordered.size() / 2];
  return low == high ? low : std::sqrt(low) * std::sqrt(high);
}

Ratio compute_paired_ratio(std::span<const double> a, std::span<const double> b) {
  need(a.size() == b.size() && !a.empty(),
       "pairs that do not match (the lists differ in length or are empty). Pair them.");
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    need(a[i] > 0 && b[i] > 0,
         "a ratio of times that are not positive (a measurement is zero). Measure again.");
    // Exchanging the sides gives exact reciprocals, so that equal ratios stay equal: ties affect
    // the ranks.
    ratios[i] = a[i] < b[i] ? 1 / (b[i] / a[i]) : a[i] / b[i];
  }
  return {ratio_median(ratios), compute_median_interval(ratios, 0.95),
          static_cast<int>(ratios.size())};
}

namespace {

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    need(value > 0, "a time or ratio that is not positive (a measurement is zero). Measure again.");
    logs.push_back(std::log(value));
  }
  return logs;
}

/// The sum of the squared deviations from the mean.
double square_sum(const std::vector<double>& values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
}

}  // namespace

LaunchComparison compare_launches(std::span<const double> base, std::span<const double> updated,
                                  double confidence) {
  need(!base.empty() && !updated.empty(),
       "a comparison without launches (a side is empty). Run both sides.");
  need(confidence > 0 && confidence < 1,
       "a confidence outside 0 to 1 (it is a probability). Give 0.95.");
  std::vector<double> both(updated.begin(), updated.end());
  both.insert(both.end(), base.begin(), base.end());
  const std::vector<double> ranks = midranks(both);
  // Logarithms, so that exchanging the sides inverts the ratio's interval.
  both = logarithms(both);
  const auto n_base = base.size(), n_new = updated.size();
  std::vector<double> differences;
  differences.reserve(n_base * n_new);
  for (std::size_t after = 0; after < n_new; ++after)
    for (std::size_t before = n_new; before < both.size(); ++before)
      differences.push_back(both[after] - both[before]);
  std::sort(differences.begin(), differences.end());

  LaunchComparison result;
  result.n_base = static_cast<int>(n_base);
  result.n_new = static_cast<int>(n_new);
  result.ratio = std::exp(quantile_of_sorted(differences, 0.5));
  const double alpha = 1 - confidence;
  std::size_t k = 0;  // D_(k) and D_(mn+1-k) bound the shift; 0: too few launches
  if (n_base <= 50 && n_new <= 50) {
    result.p = compute_rank_sum_p(ranks, n_new);
    k = rank_sum_critical(n_new, n_base, alpha);
  } else {
    const RankSumMoments moments = compute_rank_sum_moments(ranks, n_new);
    const boost::math::normal_distribution<> normal;
    const double sum =
        std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n_new), 0.0);
    const double distance = std::max(std::abs(sum - moments.mean) - 0.5, 0.0);
    result.p = moments.deviation == 0
                   ? 1
                   : std::min(1.0, 2 * boost::math::cdf(boost::math::complement(
                                           normal, distance / moments.deviation)));
    const double untied =
        std::sqrt(static_cast<double>(n_base * n_new * (n_base + n_new + 1)) / 12);
    const double place = static_cast<double>(n_base * n_new) / 2 -
                         boost::math::quantile(normal, 1 - alpha / 2) * untied;
    k = place < 1 ? 0 : static_cast<std::size_t>(place);
  }
  if (k > 0)
    result.interval = {std::exp(differences[k - 1]), std::exp(differences[differences.size() - k])};
  return result;
}

double least_p(int m, int n) {
  need(m > 0 && n > 0, "a comparison without launches (a side is empty). Run both sides.");
  return std::min(1.0, 2 / boost::math::binomial_coefficient<double>(static_cast<unsigned>(m + n),
                                                                     static_cast<unsigned>(m)));
}

std::optional<double> launch_variation(std::span<const double> medians) {
  if (medians.size() < 2) return std::nullopt;
  return std::sqrt(square_sum(logarithms(medians)) / static_cast<double>(medians.size() - 1));
}

std::optional<double> minimum_detectable(std::span<const double> base,
                                         std::span<const double> updated, double alpha,
                                         double power) {
  const auto m = static_cast<double>(base.size()), n = static_cast<double>(updated.size());
  // Rounding must not decide whether 5 launches against 5 can reach p = 2/252.
  if (base.empty() || updated.empty() || m + n < 3 ||
      least_p(static_cast<int>(m), static_cast<int>(n)) > alpha * (1 + 1e-9))
    return std::nullopt;
  const double freedom = m + n - 2;
  const double deviation =
      std::sqrt((square_sum(logarithms(base)) + square_sum(logarithms(updated))) / freedom);
  const boost::math::students_t_distribution<> t(freedom);
  const double distance = boost::math::quantile(t, 1 - alpha / 2) + boost::math::quantile(t, power);
  constexpr double efficiency = 108.0 / 125;
  return std::expm1(distance * deviation * std::sqrt((1 / m + 1 / n) / efficiency));
}

}  // namespace assay
