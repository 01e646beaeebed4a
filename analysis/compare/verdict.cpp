#include "analysis/compare/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "analysis/ratio.hpp"

namespace assay {

namespace {

/// p is a ratio of counts; its rounding must not decide whether 3 launches against 3 can show a
/// change.
bool shows(double p, double limit) { return p <= limit * (1 + 1e-9); }

/// The tolerance is a band that does not change if the sides are exchanged.
bool is_tolerated(double ratio, double tolerance) {
  return ratio <= 1 + tolerance && ratio >= 1 / (1 + tolerance);
}

bool is_tolerated(const LaunchComparison& launches, double tolerance) {
  return launches.interval && is_tolerated(launches.interval->low, tolerance) &&
         is_tolerated(launches.interval->high, tolerance);
}

/// The whole interval must be outside of the tolerance. If the estimate alone decided, a change of
/// exactly the limit would be reported in half of the comparisons.
bool is_slower(const LaunchComparison& launches, double tolerance) {
  return launches.interval && launches.interval->low > 1 + tolerance;
}

bool is_faster(const LaunchComparison& launches, double tolerance) {
  return launches.interval && launches.interval->high < 1 / (1 + tolerance);
}

/// Why the launches do not show whether the change is within the tolerance, and how many launches
/// would show it if the ratio is as estimated. The interval narrows with the square root of their
/// number.
std::string explain_undecided(const LaunchComparison& launches, double tolerance) {
  if (!launches.interval)
    return fmt::format("{} + {} launches are too few for a 95 % interval: run {} + {}",
                       launches.n_base, launches.n_new, screen_launches, screen_launches);
  const double room = std::log1p(tolerance) - std::fabs(std::log(launches.ratio));
  const double half = std::log(launches.interval->high / launches.interval->low) / 2;
  const Interval shown = compute_speedup(*launches.interval);
  const std::string exceeds =
      fmt::format("the interval {:.4g} to {:.4g} {}", shown.low, shown.high,
                  room > 0 ? "is wider than the tolerance" : "contains a limit of the tolerance");
  const double least = std::min(launches.n_base, launches.n_new);
  const double wanted = std::ceil(std::max(least + 1, least * half / room * half / room));
  // NaN if the estimate is the limit itself.
  return wanted <= 1000 ? fmt::format("{}; about {:.0f} + {:.0f} launches would decide", exceeds,
                                      wanted, wanted)
                        : exceeds + "; use a quieter machine or another tolerance";
}

}  // namespace

bool is_flagged(const LaunchComparison& screen, double tolerance) {
  return !is_tolerated(screen, tolerance) &&
         (shows(screen.p, screen_p) || (tolerance > 0 && !is_tolerated(screen.ratio, tolerance)));
}

Judgement judge_screen(const LaunchComparison& screen, double tolerance) {
  Judgement result;
  if (is_flagged(screen, tolerance)) {
    result.needs_confirmation = true;
    result.reason =
        fmt::format("needs confirmation by {} + {} fresh launches", fresh_launches, fresh_launches);
  } else if (is_tolerated(screen, tolerance)) {
    result.verdict = Verdict::same;
  } else {
    result.reason = explain_undecided(screen, tolerance);
  }
  return result;
}

Judgement judge_fresh(const LaunchComparison& fresh, double tolerance, double limit) {
  Judgement result;
  result.detected = shows(fresh.p, limit);
  if (result.detected && is_slower(fresh, tolerance)) {
    result.verdict = Verdict::slower;
  } else if (result.detected && is_faster(fresh, tolerance)) {
    result.verdict = Verdict::faster;
  } else if (is_tolerated(fresh, tolerance)) {
    result.verdict = Verdict::same;
  } else if (result.detected) {
    result.reason =
        "a change was detected, but it may be tolerated: " + explain_undecided(fresh, tolerance);
  } else if (!shows(least_p(fresh.n_base, fresh.n_new), limit)) {
    int enough = fresh_launches;
    while (!shows(least_p(enough, enough), limit)) ++enough;
    result.reason = fmt::format("{} + {} fresh launches cannot reach p {:.2g}: run {} + {}",
                                fresh.n_base, fresh.n_new, limit, enough, enough);
  } else {
    result.reason =
        "neither a change nor its absence is shown: " + explain_undecided(fresh, tolerance);
  }
  return result;
}

namespace {

/// The trimmed mean of the logarithms of a side, and its squared standard error.
struct Trimmed {
  double mean = 0, error_squared = 0;
  double degrees = 0;  ///< number of launches that are left, minus 1
};

Trimmed trim_times(std::span<const double> times) {
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

TrimmedTest compare_trimmed(std::span<const double> base, std::span<const double> updated) {
  const Trimmed before = trim_times(base), after = trim_times(updated);
  const double error = before.error_squared + after.error_squared;
  return {std::fabs(after.mean - before.mean), std::sqrt(error),
          error * error /
              (before.error_squared * before.error_squared / before.degrees +
               after.error_squared * after.error_squared / after.degrees)};
}

}  // namespace

double compute_trimmed_welch_p(std::span<const double> base, std::span<const double> updated) {
  if (base.size() < 2 || updated.size() < 2) return 1;
  const TrimmedTest test = compare_trimmed(base, updated);
  if (!(test.error > 0)) return test.distance > 0 ? 0 : 1;
  const boost::math::students_t distribution(test.degrees);
  return 2 * boost::math::cdf(boost::math::complement(distribution, test.distance / test.error));
}

LaunchComparison compare_fresh(std::span<const double> base, std::span<const double> updated,
                               double confidence) {
  LaunchComparison comparison = compare_launches(base, updated, confidence);
  comparison.p = std::max(comparison.p, compute_trimmed_welch_p(base, updated));
  return comparison;
}

std::optional<double> fresh_detectable(std::span<const double> base,
                                       std::span<const double> updated, double alpha,
                                       double power) {
  const std::optional<double> rank_change = minimum_detectable(base, updated, alpha, power);
  if (!rank_change) return std::nullopt;
  const TrimmedTest test = compare_trimmed(base, updated);
  if (!(test.error > 0)) return rank_change;
  const boost::math::students_t distribution(test.degrees);
  const double shift = (boost::math::quantile(distribution, 1 - alpha / 2) +
                        boost::math::quantile(distribution, power)) *
                       test.error;
  return std::max(*rank_change, std::expm1(shift));
}

}  // namespace assay
