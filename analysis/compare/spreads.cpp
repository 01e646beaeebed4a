#include "analysis/compare/spreads.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <vector>

namespace assay {

namespace {

/// The trimmed mean of the logarithms of a side, and its squared standard error.
struct Trimmed {
  double mean = 0, error_squared = 0;
  double degrees = 0;  ///< launches that are left, minus 1
};

Trimmed trimmed(std::span<const double> times) {
  std::vector<double> logs;
  for (const double time : times) logs.push_back(std::log(time));
  std::sort(logs.begin(), logs.end());
  const std::size_t n = logs.size();
  const auto cut = static_cast<std::size_t>(trimmed_part * static_cast<double>(n) + 1e-9);
  const double left = static_cast<double>(n - 2 * cut);
  Trimmed side;
  side.mean = std::accumulate(logs.begin() + static_cast<std::ptrdiff_t>(cut),
                              logs.end() - static_cast<std::ptrdiff_t>(cut), 0.0) /
              left;
  // Winsorised: trimmed values are replaced by the nearest value that is left.
  for (double& value : logs) value = std::clamp(value, logs[cut], logs[n - 1 - cut]);
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(n);
  double squares = 0;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  side.degrees = left - 1;
  side.error_squared = squares / (left * side.degrees);
  return side;
}

/// Welch's t of the trimmed logarithms.
struct TrimmedTest {
  double distance = 0, error = 0;  ///< of the means, and its standard error
  double degrees = 0;
};

TrimmedTest trimmed_test(std::span<const double> base, std::span<const double> updated) {
  const Trimmed before = trimmed(base), after = trimmed(updated);
  const double error = before.error_squared + after.error_squared;
  return {std::fabs(after.mean - before.mean), std::sqrt(error),
          error * error /
              (before.error_squared * before.error_squared / before.degrees +
               after.error_squared * after.error_squared / after.degrees)};
}

}  // namespace

double trimmed_welch_p(std::span<const double> base, std::span<const double> updated) {
  if (base.size() < 2 || updated.size() < 2) return 1;
  const TrimmedTest test = trimmed_test(base, updated);
  if (!(test.error > 0)) return test.distance > 0 ? 0 : 1;
  const boost::math::students_t distribution(test.degrees);
  return 2 * boost::math::cdf(boost::math::complement(distribution, test.distance / test.error));
}

LaunchComparison compare_fresh(std::span<const double> base, std::span<const double> updated,
                               double confidence) {
  LaunchComparison comparison = compare_launches(base, updated, confidence);
  comparison.p = std::max(comparison.p, trimmed_welch_p(base, updated));
  return comparison;
}

std::optional<double> fresh_detectable(std::span<const double> base,
                                       std::span<const double> updated, double alpha,
                                       double power) {
  const std::optional<double> rank_change = minimum_detectable(base, updated, alpha, power);
  if (!rank_change) return std::nullopt;
  const TrimmedTest test = trimmed_test(base, updated);
  if (!(test.error > 0)) return rank_change;
  const boost::math::students_t distribution(test.degrees);
  const double shift = (boost::math::quantile(distribution, 1 - alpha / 2) +
                        boost::math::quantile(distribution, power)) *
                       test.error;
  return std::max(*rank_change, std::expm1(shift));
}

}  // namespace assay
