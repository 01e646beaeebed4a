#include "analysis/history/change_points.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/binomial.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "core/base/statistics.hpp"

namespace assay {

namespace {

/// Values [first, last), which are compared with all others. If first is 0, it is a split before
/// `last`.
struct Stretch {
  std::size_t first = 0, last = 0;
  double strength = -1;
};

enum class Shape { split, middle };

/// The stretch whose mean differs most from the mean of the other values, by the between-group sum
/// of squares. For a given set of values, this gives the same order as the t statistic with pooled
/// variance. `sums`: n + 1 partial sums of values with mean 0.
Stretch find_strongest(std::span<const double> sums, Shape shape) {
  const std::size_t n = sums.size() - 1, least = minimum_segment;
  Stretch best;
  const auto consider = [&](std::size_t first, std::size_t last) {
    const double sum = sums[last] - sums[first];
    const auto inside = static_cast<double>(last - first);
    const double strength = sum * sum / (inside * (static_cast<double>(n) - inside));
    if (strength > best.strength) best = {first, last, strength};
  };
  if (shape == Shape::split) {
    for (std::size_t last = least; last + least <= n; ++last) consider(0, last);
  } else {
    for (std::size_t first = least; first + 2 * least <= n; ++first)
      for (std::size_t last = first + least; last + least <= n; ++last) consider(first, last);
  }
  return best;
}

void sum_up(std::span<const double> values, std::vector<double>& sums) {
  sums.resize(values.size() + 1);
  sums[0] = 0;
  std::partial_sum(values.begin(), values.end(), sums.begin() + 1);
}

void centre(std::vector<double>& values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  for (double& value : values) value -= mean;
}

void clamp_to_fences(std::vector<double>& values) {
  const double low = quantile(values, 0.25), high = quantile(values, 0.75);
  const double reach = 3 * (high - low);
  if (!(reach > 0)) return;
  for (double& value : values) value = std::clamp(value, low - reach, high + reach);
}

Stretch find_strongest_change(std::vector<double> values, Shape shape) {
  centre(values);
  std::vector<double> sums;
  sum_up(values, sums);
  return find_strongest(sums, shape);
}

/// First-order autocorrelation of values with mean 0; 0 if all are 0.
double lag_one(std::span<const double> values) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += values[i] * values[i];
    if (i > 0) products += values[i] * values[i - 1];
  }
  return squares > 0 ? products / squares : 0;
}

/// The same for the residuals of two estimated means, or of a line. An estimated mean makes the
/// estimate too small by (1 + 3 phi) / n (Marriott & Pope 1954, Kendall 1954).
double compute_corrected_lag_one(std::span<const double> residuals) {
  const double phi = lag_one(residuals);
  return phi + 2 * (1 + 3 * phi) / static_cast<double>(residuals.size());
}

/// A series without its strongest change: each part minus its mean.
std::vector<double> residuals(std::vector<double> values, const Stretch& change) {
  double inside = 0, outside = 0;
  const std::size_t length = change.last - change.first;
  const auto in = [&](std::size_t i) { return i >= change.first && i < change.last; };
  for (std::size_t i = 0; i < values.size(); ++i) (in(i) ? inside : outside) += values[i];
  inside /= static_cast<double>(length);
  outside /= static_cast<double>(values.size() - length);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= in(i) ? inside : outside;
  return values;
}

/// First-order autocorrelation: the smaller of two estimates. The estimate from the residuals of
/// the strongest change is precise, but other changes look like autocorrelation. The estimate from
/// the differences, whose autocorrelation is -(1 - phi) / 2, is less precise, but steps are only a
/// few outliers among them.
double autocorrelation(const std::vector<double>& values, const Stretch& change) {
  std::vector<double> differences(values.size() - 1);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) differences[i] = values[i + 1] - values[i];
  clamp_to_fences(differences);
  return std::clamp(
      std::min(compute_corrected_lag_one(residuals(values, change)), 1 + 2 * lag_one(differences)),
      least_autocorrelation, 0.9);
}

/// The innovations of the first-order autoregression; they are exchangeable if nothing changed.
std::vector<double> innovations(std::vector<double> values, double phi) {
  centre(values);
  for (std::size_t i = values.size() - 1; i > 0; --i) values[i] -= phi * values[i - 1];
  values[0] *= std::sqrt(1 - phi * phi);
  return values;
}

class Search {
 public:
  Search(std::span<const double> values, double level, std::uint64_t seed)
      : values_(values), level_(level), random_(seed) {}

  void within(std::size_t first, std::size_t last) {
    const std::size_t n = last - first;
    if (n < 2 * minimum_segment) return;
    // Each of the two searches gets half of the level, and each part a share by its length, so that
    // all parts together keep the level.
    const double level = level_ / 2 * static_cast<double>(n) / static_cast<double>(values_.size());
    for (const Shape shape : {Shape::split, Shape::middle}) {
      if (shape == Shape::middle && n < 3 * minimum_segment) return;
      std::vector<double> part(values_.begin() + static_cast<std::ptrdiff_t>(first),
                               values_.begin() + static_cast<std::ptrdiff_t>(last));
      clamp_to_fences(part);
      const Stretch change = find_strongest_change(part, shape);
      if (!(change.strength > 0)) return;
      const double phi = autocorrelation(part, change);
      const double p = probability(innovations(part, phi), shape, level);
      if (p > level) continue;
      within(first, first + change.first);
      if (change.first > 0) changes.push_back({first + change.first, p});
      within(first + change.first, first + change.last);
      if (change.last < n) changes.push_back({first + change.last, p});
      within(first + change.last, last);
      return;
    }
  }

  std::vector<ChangePoint> changes;

 private:
  /// (b + 1) / (N + 1), where b of N permutations are at least as strong: never too small, for any
  /// N (Phipson & Smyth 2010). Stops as soon as b is too large for `level`.
  double probability(std::vector<double> values, Shape shape, double level) {
    clamp_to_fences(values);
    centre(values);
    std::vector<double> sums;
    sum_up(values, sums);
    const double observed = find_strongest(sums, shape).strength * (1 - 1e-9);
    const double most = std::ceil(3 / level);
    double as_strong = 0;
    for (double trial = 1; trial < most; ++trial) {
      // std::shuffle is not used, because its result differs between libraries.
      for (std::size_t i = values.size() - 1; i > 0; --i)
        std::swap(values[i], values[random_() % (i + 1)]);
      sum_up(values, sums);
      if (find_strongest(sums, shape).strength >= observed) ++as_strong;
      if (as_strong >= 3) return as_strong / trial;
    }
    return (as_strong + 1) / most;
  }

  std::span<const double> values_;
  double level_;
  std::mt19937_64 random_;
};

double theil_sen(std::span<const double> values) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  return median(slopes);
}

/// The autocorrelation of values about a line of this slope.
double autocorrelation(std::span<const double> values, double slope) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < values.size(); ++i)
    residuals.push_back(values[i] - slope * static_cast<double>(i));
  const double level = median(residuals);
  for (double& value : residuals) value -= level;
  return std::clamp(compute_corrected_lag_one(residuals), least_autocorrelation, 0.9);
}

/// Two-sided, normal approximation with ties and continuity correction.
double kendall_p(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double score = 0;
  std::map<double, double> ties;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ++ties[values[i]];
    for (std::size_t j = i + 1; j < values.size(); ++j)
      score += values[j] > values[i] ? 1 : values[j] < values[i] ? -1 : 0;
  }
  double variance = n * (n - 1) * (2 * n + 5);
  for (const auto& [value, count] : ties) variance -= count * (count - 1) * (2 * count + 5);
  if (!(variance > 0) || std::fabs(score) <= 1) return 1;
  const double z = (std::fabs(score) - 1) / std::sqrt(variance / 18);
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const double> values, double level,
                                            std::uint64_t seed) {
  Search search(values, level, seed);
  search.within(0, values.size());
  return search.changes;
}

bool can_find(std::size_t n, double level) {
  if (n < 2 * minimum_segment) return false;
  // The clearest step and its mirror image are 2 of the C(n, n/2) arrangements of two levels.
  return 2 / boost::math::binomial_coefficient<double>(static_cast<unsigned>(n),
                                                       static_cast<unsigned>(n / 2)) <=
         level / 2;
}

Trend find_trend(std::span<const double> values) {
  if (values.size() < minimum_trend) return {};
  Trend trend;
  trend.slope = theil_sen(values);
  trend.ratio = std::exp(trend.slope);
  const double phi = autocorrelation(values, trend.slope);
  std::vector<double> innovations;
  for (std::size_t i = 1; i < values.size(); ++i)
    innovations.push_back(values[i] - phi * values[i - 1]);
  trend.p = kendall_p(innovations);
  return trend;
}

}  // namespace assay
