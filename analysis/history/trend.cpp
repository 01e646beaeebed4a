#include "analysis/history/trend.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "analysis/history/change_points.hpp"
#include "core/base/statistics.hpp"

namespace assay {

namespace {

double theil_sen(std::span<const double> values) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  return median(slopes);
}

double autocorrelation(std::span<const double> values, double slope) {
  std::vector<double> rest;
  for (std::size_t i = 0; i < values.size(); ++i)
    rest.push_back(values[i] - slope * static_cast<double>(i));
  const double level = median(rest);
  for (double& value : rest) value -= level;
  const double found = lag_one(rest);
  // It is too small, because two parameters of the line were estimated (Marriott & Pope 1954).
  const double corrected = found + 2 * (1 + 3 * found) / static_cast<double>(values.size());
  return std::clamp(corrected, least_autocorrelation, 0.9);
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

Trend trend_of(std::span<const double> values) {
  if (values.size() < minimum_trend) return {};
  Trend trend;
  trend.slope = theil_sen(values);
  const double phi = autocorrelation(values, trend.slope);
  std::vector<double> innovations;
  for (std::size_t i = 1; i < values.size(); ++i)
    innovations.push_back(values[i] - phi * values[i - 1]);
  trend.p = kendall_p(innovations);
  return trend;
}

}  // namespace assay
