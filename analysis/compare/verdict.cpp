#include "analysis/compare/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/ratio.hpp"

namespace assay {

namespace {

/// p is a sum of counts over counts: its rounding must not decide what 3 against 3 can show.
bool shows(double p, double limit) { return p <= limit * (1 + 1e-9); }

/// The tolerance as a band that reads the same from either side.
bool tolerated(double ratio, double tolerance) {
  return ratio <= 1 + tolerance && ratio >= 1 / (1 + tolerance);
}

bool tolerated(const LaunchComparison& launches, double tolerance) {
  return launches.interval && tolerated(launches.interval->low, tolerance) &&
         tolerated(launches.interval->high, tolerance);
}

/// Why the launches do not show that nothing changed, and how many would if nothing did: the
/// interval narrows with the root of their number.
std::string not_same(const LaunchComparison& launches, double tolerance) {
  if (!launches.interval)
    return fmt::format("{} + {} launches are too few for a 95 % interval: run {} + {}",
                       launches.n_base, launches.n_new, screen_launches, screen_launches);
  const double room = std::log1p(tolerance) - std::fabs(std::log(launches.ratio));
  const double half = std::log(launches.interval->high / launches.interval->low) / 2;
  const Interval shown = speedup_of(*launches.interval);
  const std::string exceeds = fmt::format(
      "the interval {:.4g} to {:.4g} is wider than the tolerance", shown.low, shown.high);
  if (!(room > 0)) return exceeds + ": run more launches";
  const double least = std::min(launches.n_base, launches.n_new);
  const double wanted = std::ceil(std::max(least + 1, least * half / room * half / room));
  return wanted > 1000 ? exceeds + ": it needs a quieter machine or a larger tolerance"
                       : fmt::format("{}: about {:.0f} + {:.0f} launches would decide", exceeds,
                                     wanted, wanted);
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::same:
      return "same";
    default:
      return "inconclusive";
  }
}

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
    result.reason = not_same(screen, tolerance);
  }
  return result;
}

Judgement judge_fresh(const LaunchComparison& fresh, double tolerance, double limit) {
  Judgement result;
  result.detected = shows(fresh.p, limit);
  if (result.detected && fresh.ratio > 1 + tolerance) {
    result.verdict = Verdict::slower;
  } else if (result.detected && fresh.ratio < 1 / (1 + tolerance)) {
    result.verdict = Verdict::faster;
  } else if (tolerated(fresh, tolerance)) {
    result.verdict = Verdict::same;
  } else if (result.detected) {
    result.reason =
        "a change is there, but not whether it is tolerated: " + not_same(fresh, tolerance);
  } else if (!shows(least_p(fresh.n_base, fresh.n_new), limit)) {
    int enough = fresh_launches;
    while (!shows(least_p(enough, enough), limit)) ++enough;
    result.reason = fmt::format("{} + {} fresh launches cannot reach p {:.2g}: run {} + {}",
                                fresh.n_base, fresh.n_new, limit, enough, enough);
  } else {
    result.reason = "no change is shown, nor its absence: " + not_same(fresh, tolerance);
  }
  return result;
}

}  // namespace assay
