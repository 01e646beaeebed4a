#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "analysis/history/history.hpp"
#include "analysis/text_table.hpp"

namespace assay {

namespace {

using Points = std::vector<const Point*>;

Points slice(const Points& points, std::size_t first, std::size_t end) {
  const auto at = [&](std::size_t i) { return points.begin() + static_cast<std::ptrdiff_t>(i); };
  return {at(first), at(end)};
}
Points take_last(const Points& points, std::size_t most) {
  return slice(points, points.size() - std::min(points.size(), most), points.size());
}

std::vector<double> take_values(const Points& points) {
  std::vector<double> values;
  for (const Point* point : points) values.push_back(point->value);
  return values;
}
double median_value(const Points& points) { return median(take_values(points)); }
double least(const Points& points) { return std::ranges::min(take_values(points)); }

/// Tukey's inner fences; values outside of them are outliers.
Interval find_fences(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const double low = quantile(logs, 0.25), high = quantile(logs, 0.75);
  const double reach = 1.5 * (high - low);
  return {std::exp(low - reach), std::exp(high + reach)};
}

/// The last points of undisturbed runs, at most `most`. If these are fewer than `enough`, all runs
/// count, so that a machine that is never quiet is judged as well.
Points select_undisturbed(const Points& points, std::size_t enough, std::size_t most) {
  Points quiet = points;
  std::erase_if(quiet, [](const Point* point) { return point->is_disturbed(); });
  return take_last(quiet.size() < enough ? points : quiet, most);
}

bool is(const auto& baseline, const char* state) { return baseline && baseline->state == state; }

class Judge {
 public:
  Judge(const RowHistory& series, const Anchor* promoted, double level, double tolerance)
      : promoted_(promoted), limit_(1 + tolerance) {
    verdict.tolerance = tolerance;
    for (const Point& point : series.points) points_.push_back(&point);
    if (promoted_ != nullptr) adopt_promotion();
    // The searches for steps and for trends share the level equally.
    find_changes(series, level / 2);
    find_trend(level / 2);
    if (points_.empty()) {
      verdict.state = "no result";
      verdict.anchored_reason = verdict.rolling_reason = verdict.reason = "no run has a result";
      return;
    }
    const Points latest = take_last(points_, latest_points);
    verdict.latest = {median_value(latest), least(latest), std::ranges::max(take_values(latest)),
                      latest.size(), latest.front()->when};
    if (promoted_ != nullptr) verdict.last_ratio = points_.back()->value / promoted_->value.value();
    judge_anchored();
    judge_rolling();
    decide();
  }

  SeriesVerdict verdict;

 private:
  /// Finds the points of the promoted level: those that the decision names or, if none of them is
  /// in the series, the latest points before the decision.
  void adopt_promotion() {
    since_ = parse_time(promoted_->time, "anchors.jsonl");
    const bool several = promoted_->run.empty();
    const std::vector<std::string> runs = several ? promoted_->runs : std::vector{promoted_->run};
    const auto named = std::ranges::find_if(
        points_, [&](const Point* point) { return std::ranges::count(runs, point->run) > 0; });
    level_start_ = static_cast<std::size_t>(named - points_.begin());
    if (named == points_.end()) {
      const auto later = [&](const Point* point) { return point->time >= *since_; };
      level_start_ =
          static_cast<std::size_t>(std::ranges::find_if(points_, later) - points_.begin());
      level_start_ -= std::min(level_start_, latest_points);
    }
    // If a median of points is promoted, a step among these points is accepted with it.
    accepted_ = several ? std::min(points_.size(), level_start_ + latest_points) : level_start_;
  }

  std::vector<double> take_logs(std::size_t first) const {
    std::vector<double> logs = take_values(slice(points_, first, points_.size()));
    for (double& value : logs) value = std::log(value);
    return logs;
  }

  void find_changes(const RowHistory& series, double level) {
    const std::size_t n = points_.size();
    if (!can_find(n, level)) {
      std::size_t needed = n;
      while (!can_find(needed, level)) ++needed;
      verdict.changes_reason = fmt::format("{} (a significant step needs at least {})",
                                           format_count(n, "point"), needed);
      return;
    }
    // The seed depends only on the series, so other series do not affect its result.
    const std::string name = series.id + " " + series.hardware;
    std::seed_seq words(name.begin(), name.end());
    std::array<std::uint32_t, 2> seed{};
    words.generate(seed.begin(), seed.end());
    const std::vector<ChangePoint> changes =
        find_change_points(take_logs(0), level, std::uint64_t{seed[0]} << 32 | seed[1]);
    for (std::size_t i = 0, first = 0; i < changes.size(); first = changes[i++].index) {
      // Only points near the step are used, because a segment may also drift.
      const auto [at, p] = changes[i];
      const std::size_t end = i + 1 < changes.size() ? changes[i + 1].index : n;
      const double before = median_value(take_last(slice(points_, first, at), rolling_points)),
                   after = median_value(slice(points_, at, std::min(end, at + rolling_points)));
      verdict.changes.push_back({points_[at]->when, at, before, after, after / before, p});
    }
  }

  /// A promotion accepts all changes up to its level, so only the trend after it counts.
  void find_trend(double level) {
    const Trend trend = assay::find_trend(take_logs(level_start_));
    if (trend.p <= level) verdict.trend = trend;
  }

  /// Compares all of the latest points, not their median (see latest_points).
  BaselineLevel compare_with(double baseline) const {
    const auto& latest = *verdict.latest;
    return {baseline, latest.value / baseline,
            latest.low > baseline * limit_    ? "slower"
            : latest.high * limit_ < baseline ? "faster"
                                              : "steady"};
  }

  /// The median of the first anchor_points undisturbed points that are within the fences of all
  /// such points up to there.
  std::optional<double> find_first_level() const {
    const std::vector<double> values =
        take_values(select_undisturbed(points_, anchor_points, points_.size()));
    for (std::size_t n = anchor_points; n <= values.size(); ++n) {
      std::vector<double> within(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
      const Interval fences = find_fences(within);
      std::erase_if(within, [&](double value) {
        return value < fences.low * (1 - 1e-12) || value > fences.high * (1 + 1e-12);
      });
      if (within.size() >= anchor_points) return median(within);
    }
    return std::nullopt;
  }

  void judge_anchored() {
    const std::size_t runs = points_.size();
    if (promoted_ != nullptr && runs < latest_points)
      verdict.anchored_reason = fmt::format("{} of {} runs that are needed", runs, latest_points);
    else if (promoted_ != nullptr)
      verdict.anchored = {compare_with(promoted_->value.value()),
                          true,
                          promoted_->time,
                          promoted_->owner,
                          promoted_->reason,
                          promoted_->run};
    else if (const std::optional<double> level = find_first_level())
      verdict.anchored = {compare_with(*level), false, points_.front()->when, "",
                          fmt::format("not promoted: median of the first {} points that are within "
                                      "their Tukey fences",
                                      anchor_points)};
    else if (runs < anchor_points)
      verdict.anchored_reason = fmt::format("{} of {} runs", runs, anchor_points);
    else
      verdict.anchored_reason = fmt::format(
          "fewer than {} of {} runs are within their Tukey fences", anchor_points, runs);
  }

  void judge_rolling() {
    Points window = slice(points_, 0, points_.size() - verdict.latest->points);
    // A promotion accepts the level at its time, so the baseline excludes earlier points.
    while (since_ && !window.empty() && window.front()->time < *since_)
      window.erase(window.begin());
    if (window.size() < latest_points) {
      verdict.rolling_reason = fmt::format(
          "{} before the latest {}{} ({} are needed)", format_count(window.size(), "point"),
          verdict.latest->points, since_ ? " and since the promotion" : "", latest_points);
      return;
    }
    const Points baseline = select_undisturbed(window, latest_points, rolling_points);
    verdict.rolling = {compare_with(median_value(baseline)), baseline.size()};
  }

  /// True if there is a significant change in this direction that no promotion has accepted.
  bool has_changed(bool up) const {
    return std::ranges::any_of(verdict.changes, [&](const LevelChange& change) {
      if (promoted_ != nullptr && change.index <= accepted_) return false;
      return up ? change.ratio > limit_ : change.ratio * limit_ < 1;
    });
  }

  /// The points with which the last ones are compared; none if there are too few.
  Points select_reference(std::size_t last) const {
    const std::size_t end = points_.size() - last;
    std::size_t first = level_start_;
    // If enough points are left, only those since the last change are used: a slow level that was
    // fixed may come back, and is then suspect again.
    for (const LevelChange& change : verdict.changes)
      if (change.index + anchor_points <= end) first = std::max(first, change.index);
    const std::size_t enough =
        promoted_ != nullptr ? std::min(latest_points, end - first) : anchor_points - 1;
    if (first >= end || end - first < enough) return {};
    return select_undisturbed(slice(points_, first, end), enough, reference_points);
  }

  /// The promoted value comes from a few runs. Later runs make it more precise, but may shift it by
  /// at most half of the tolerance.
  double estimate_level(const Points& reference) const {
    const double level = median_value(reference);
    if (promoted_ == nullptr) return level;
    const double promoted = promoted_->value.value(), shift = 1 + verdict.tolerance / 2;
    return std::clamp(level, promoted / shift, promoted * shift);
  }

  /// True if the last points are slower than the earlier ones: beyond the margin, beyond the fence
  /// of the earlier points, and at a level that is not persistent.
  ///
  /// One or two slow values are no level of the machine, because they may be the first runs of a
  /// slower library. Only `level_points` undisturbed values near each other are a level (a second
  /// mode of the machine): they excuse a further slow point, and widen the fence.
  bool is_suspect(std::size_t last) const {
    const Points reference = select_reference(last);
    if (reference.empty()) return false;
    const double value = least(take_last(points_, last));
    const double limit = estimate_level(reference) * (1 + suspect_margin * verdict.tolerance);
    if (value <= limit) return false;
    const auto stayed = [&](double slow) {
      const double near = 1 + verdict.tolerance / 2;
      return std::ranges::count_if(reference, [&](const Point* point) {
               return !point->is_disturbed() && point->value > limit &&
                      point->value <= slow * near && slow <= point->value * near;
             }) >= level_points;
    };
    std::vector<double> typical = take_values(reference);
    std::erase_if(typical, [&](double other) { return other > limit && !stayed(other); });
    if (typical.size() >= latest_points && value <= find_fences(typical).high) return false;
    return !stayed(value);
  }

  /// The number of last points that are suspect.
  std::size_t count_suspects() const {
    const std::size_t most = std::min(points_.size(), reference_points);
    for (std::size_t last = 1; last <= most; ++last)
      if (is_suspect(last)) return last;
    return 0;
  }

  /// The level that estimate_level() gives, in words.
  std::string describe_level(double level) const {
    if (promoted_ == nullptr) return "the earlier runs";
    const double shift = 100 * (level / promoted_->value.value() - 1);
    return std::abs(shift) < 0.05
               ? "the promoted level"
               : fmt::format("the promoted level, which the runs since then shift by {:+.1f} %",
                             shift);
  }

  void set_suspect(std::size_t last) {
    const Points reference = select_reference(last), suspects = take_last(points_, last);
    const double level = estimate_level(reference);
    verdict.state = "suspect";
    verdict.size = least(suspects) / level;
    verdict.reason = fmt::format(
        "{} {:.1f} % longer than {} (tolerance {:g} %), at a level that did not stay in the {} "
        "before. {}{}The cause may be chance, the machine or the software",
        last == 1 ? "the last run takes" : fmt::format("the last {} runs take at least", last),
        100 * (*verdict.size - 1), describe_level(level), 100 * verdict.tolerance,
        format_count(reference.size(), "run"),
        suspects.back()->shared ? "Other work used its processors (!). " : "",
        suspects.back()->throttled ? "Power or heat throttled its device (\u00b0). " : "");
  }

  void set_state(const char* state, const BaselineLevel& baseline, const char* name) {
    verdict.state = state;
    verdict.size = baseline.ratio;
    verdict.reason =
        fmt::format("the latest {} points are all {} than {} by more than {:g} %",
                    verdict.latest->points, baseline.state, name, 100 * verdict.tolerance);
  }

  void decide() {
    const auto& anchored = verdict.anchored;
    const auto& rolling = verdict.rolling;
    const auto& trend = verdict.trend;
    if (!anchored && points_.size() < anchor_points) {
      verdict.reason = verdict.anchored_reason;
      return;
    }
    constexpr const char *before = "the points before them", *anchor = "the anchored baseline";
    const bool falls = has_changed(false) || (trend && trend->slope < 0);
    if (is(rolling, "slower") && has_changed(true)) {
      set_state("slower", *rolling, before);
    } else if (is(anchored, "slower") && has_changed(true)) {
      set_state("slower", *anchored, anchor);
    } else if (is(anchored, "slower") && trend && trend->slope > 0) {
      set_state("drifting", *anchored, anchor);
      verdict.reason +=
          fmt::format(", with a trend of {:+.2g} % per run (p {:.2g}) and no step that explains it",
                      100 * std::expm1(trend->slope), trend->p);
    } else if (const std::size_t last = count_suspects()) {
      set_suspect(last);
    } else if (is(rolling, "faster") && falls) {
      set_state("faster", *rolling, before);
    } else if (is(anchored, "faster") && falls) {
      set_state("faster", *anchored, anchor);
    } else {
      verdict.state = "steady";
      const bool differs =
          (rolling && !is(rolling, "steady")) || (anchored && !is(anchored, "steady"));
      verdict.reason =
          differs ? "the latest points differ from a baseline, but no step or trend is significant"
                  : fmt::format("not all of the latest {} points differ by more than {:g} %",
                                verdict.latest->points, 100 * verdict.tolerance);
    }
  }

  Points points_{};
  const Anchor* promoted_;
  double limit_;
  std::optional<double> since_{};  ///< time of the promotion
  std::size_t level_start_ = 0;    ///< the first point of the promoted level
  std::size_t accepted_ = 0;       ///< changes up to this point were accepted by the promotion
};

}  // namespace

SeriesVerdict judge_series(const RowHistory& series, const Anchor* promoted, double level,
                           double tolerance) {
  return Judge(series, promoted, level, tolerance).verdict;
}

}  // namespace assay
