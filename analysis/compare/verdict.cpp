#include "analysis/compare/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/ratio.hpp"

namespace assay {

namespace {

/// p is a ratio of counts: its rounding must not decide what 3 launches against 3 can show.
bool shows(double p, double limit) { return p <= limit * (1 + 1e-9); }

/// The tolerance is a band that is the same when the sides are exchanged.
bool tolerated(double ratio, double tolerance) {
  return ratio <= 1 + tolerance && ratio >= 1 / (1 + tolerance);
}

bool tolerated(const LaunchComparison& launches, double tolerance) {
  return launches.interval && tolerated(launches.interval->low, tolerance) &&
         tolerated(launches.interval->high, tolerance);
}

/// The whole interval must be outside of the tolerance. If the estimate were enough, a change at
/// the limit would be reported in half of the comparisons.
bool slower(const LaunchComparison& launches, double tolerance) {
  return launches.interval && launches.interval->low > 1 + tolerance;
}

bool faster(const LaunchComparison& launches, double tolerance) {
  return launches.interval && launches.interval->high < 1 / (1 + tolerance);
}

/// Why the launches do not show whether the change is tolerated, and how many launches would, if
/// the ratio is as estimated: the interval narrows with the square root of their number.
std::string undecided(const LaunchComparison& launches, double tolerance) {
  if (!launches.interval)
    return fmt::format("{} + {} launches are too few for a 95 % interval: run {} + {}",
                       launches.n_base, launches.n_new, screen_launches, screen_launches);
  const double room = std::log1p(tolerance) - std::fabs(std::log(launches.ratio));
  const double half = std::log(launches.interval->high / launches.interval->low) / 2;
  const Interval shown = speedup_of(*launches.interval);
  const std::string exceeds =
      fmt::format("the interval {:.4g} to {:.4g} {}", shown.low, shown.high,
                  room > 0 ? "is wider than the tolerance" : "contains a limit of the tolerance");
  const double least = std::min(launches.n_base, launches.n_new);
  const double wanted = std::ceil(std::max(least + 1, least * half / room * half / room));
  // NaN where the estimate is the limit itself.
  return wanted <= 1000 ? fmt::format("{}; about {:.0f} + {:.0f} launches would decide", exceeds,
                                      wanted, wanted)
                        : exceeds + "; use a quieter machine or another tolerance";
}

}  // namespace

bool is_flagged(const LaunchComparison& screen, double tolerance) {
  return !tolerated(screen, tolerance) &&
         (shows(screen.p, screen_p) || (tolerance > 0 && !tolerated(screen.ratio, tolerance)));
}

Judgement judge_screen(const LaunchComparison& screen, double tolerance) {
  Judgement result;
  if (is_flagged(screen, tolerance)) {
    result.needs_confirmation = true;
    result.reason =
        fmt::format("needs confirmation by {} + {} fresh launches", fresh_launches, fresh_launches);
  } else if (tolerated(screen, tolerance)) {
    result.verdict = Verdict::same;
  } else {
    result.reason = undecided(screen, tolerance);
  }
  return result;
}

Judgement judge_fresh(const LaunchComparison& fresh, double tolerance, double limit) {
  Judgement result;
  result.detected = shows(fresh.p, limit);
  if (result.detected && slower(fresh, tolerance)) {
    result.verdict = Verdict::slower;
  } else if (result.detected && faster(fresh, tolerance)) {
    result.verdict = Verdict::faster;
  } else if (tolerated(fresh, tolerance)) {
    result.verdict = Verdict::same;
  } else if (result.detected) {
    result.reason =
        "a change was detected, but it may be tolerated: " + undecided(fresh, tolerance);
  } else if (!shows(least_p(fresh.n_base, fresh.n_new), limit)) {
    int enough = fresh_launches;
    while (!shows(least_p(enough, enough), limit)) ++enough;
    result.reason = fmt::format("{} + {} fresh launches cannot reach p {:.2g}: run {} + {}",
                                fresh.n_base, fresh.n_new, limit, enough, enough);
  } else {
    result.reason = "neither a change nor its absence is shown: " + undecided(fresh, tolerance);
  }
  return result;
}

}  // namespace assay
