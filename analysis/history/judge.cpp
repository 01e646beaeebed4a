#include "analysis/history/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "analysis/history/times.hpp"
#include "analysis/text_table.hpp"
#include "core/base/statistics.hpp"

namespace assay {

using nlohmann::json;

namespace {

double median_of(std::span<const Point> points) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.value);
  return median(values);
}

bool by_value(const Point& a, const Point& b) { return a.value < b.value; }
double least(std::span<const Point> points) {
  return std::min_element(points.begin(), points.end(), by_value)->value;
}
double greatest(std::span<const Point> points) {
  return std::max_element(points.begin(), points.end(), by_value)->value;
}

/// Tukey's inner fences: values outside of them are outliers.
struct Fences {
  double low, high;
};
Fences fences_of(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const double low = quantile(logs, 0.25), high = quantile(logs, 0.75);
  const double reach = 1.5 * (high - low);
  return {std::exp(low - reach), std::exp(high + reach)};
}

/// The last points, at most `most`, of the runs that nothing disturbed. All runs count where these
/// are fewer than `enough`, so that a machine that is never quiet is judged as well.
std::vector<const Point*> undisturbed(std::span<const Point> points, std::size_t enough,
                                      std::size_t most) {
  std::vector<const Point*> all, quiet;
  for (const Point& point : points) {
    all.push_back(&point);
    if (!point.disturbed()) quiet.push_back(&point);
  }
  std::vector<const Point*>& found = quiet.size() < enough ? all : quiet;
  if (found.size() > most)
    found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(most));
  return found;
}

std::vector<double> values_of(std::span<const Point* const> points) {
  std::vector<double> values;
  for (const Point* point : points) values.push_back(point->value);
  return values;
}

}  // namespace

Judge::Judge(const RowHistory& series, const std::optional<json>& promoted, double level,
             double tolerance)
    : points_(series.points), tolerance_(tolerance) {
  for (const Point& point : points_) logs_.push_back(std::log(point.value));
  adopt(promoted);
  // The searches for steps and for trends share the level.
  find_changes(series, level / 2);
  find_trend(level / 2);
  if (points_.empty()) {
    state_ = "no result";
    anchored_reason_ = rolling_reason_ = reason_ = "no run has a result";
    return;
  }
  latest_ = std::span(points_).last(std::min(points_.size(), latest_points));
  before_ = std::span(points_).first(points_.size() - latest_.size());
  judge_anchored();
  judge_rolling();
  decide();
}

void Judge::write(json& into) const {
  into["tolerance"] = tolerance_;
  into["change_points"] = changes_;
  into["change_points_reason"] = changes_reason_.empty() ? json() : json(changes_reason_);
  into["trend"] = nullptr;
  if (trend_) into["trend"] = {{"p", trend_->p}, {"ratio", std::exp(trend_->slope)}};
  into["latest"] = nullptr;
  if (!latest_.empty())
    into["latest"] = {{"value", median_of(latest_)},
                      {"low", least(latest_)},
                      {"high", greatest(latest_)},
                      {"points", latest_.size()},
                      {"since", latest_.front().when}};
  into["anchored"] = anchored_;
  into["anchored_reason"] = anchored_.is_null() ? json(anchored_reason_) : json();
  into["rolling"] = rolling_;
  into["rolling_reason"] = rolling_.is_null() ? json(rolling_reason_) : json();
  into["state"] = state_;
  into["reason"] = reason_;
}

std::span<const Point> Judge::points(std::size_t first, std::size_t end) const {
  return std::span(points_).subspan(first, end - first);
}

/// Finds the points of the promoted level: those that the decision names, or, for an older decision
/// that names none, the latest points before it.
void Judge::adopt(const std::optional<json>& promoted) {
  promoted_ = promoted;
  if (!promoted_) return;
  since_ = time_of((*promoted_)["time"], "anchors.jsonl");
  json runs = promoted_->value("runs", json::array());
  if ((*promoted_)["run"].is_string()) runs = json::array({(*promoted_)["run"]});
  const auto named = std::find_if(points_.begin(), points_.end(), [&](const Point& point) {
    return std::find(runs.begin(), runs.end(), json(point.run)) != runs.end();
  });
  if (named != points_.end()) {
    level_start_ = static_cast<std::size_t>(named - points_.begin());
  } else {
    while (level_start_ < points_.size() && points_[level_start_].time < *since_) ++level_start_;
    level_start_ -= std::min(level_start_, latest_points);
  }
  accepted_ = level_start_;
  if ((*promoted_)["run"].is_null())  // a median of points, among which the step may be
    accepted_ = std::min(points_.size(), level_start_ + latest_points);
}

void Judge::find_changes(const RowHistory& series, double level) {
  const std::size_t n = points_.size();
  if (!can_find(n, level)) {
    std::size_t needed = n;
    while (!can_find(needed, level)) ++needed;
    changes_reason_ =
        fmt::format("{} (a significant step needs at least {})", counted(n, "point"), needed);
    return;
  }
  // The seed depends on the series alone, so other series do not affect its result.
  const std::string name = series.id + " " + series.hardware;
  std::seed_seq words(name.begin(), name.end());
  std::array<std::uint32_t, 2> seed{};
  words.generate(seed.begin(), seed.end());
  const std::vector<ChangePoint> found =
      change_points(logs_, level, std::uint64_t{seed[0]} << 32 | seed[1]);
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Only points near the step, because a segment may also drift.
    const std::size_t first = i == 0 ? 0 : found[i - 1].index, at = found[i].index;
    const std::size_t end = i + 1 < found.size() ? found[i + 1].index : n;
    const double before = median_of(points(first, at).last(std::min(at - first, rolling_points)));
    const double after = median_of(points(at, at + std::min(end - at, rolling_points)));
    changes_.push_back({{"time", points_[at].when},
                        {"index", at},
                        {"before", before},
                        {"after", after},
                        {"ratio", after / before},
                        {"p", found[i].p}});
  }
}

/// A promotion accepts all changes up to its level, so only the trend since then counts.
void Judge::find_trend(double level) {
  const Trend trend = trend_of(std::span(logs_).subspan(std::min(level_start_, logs_.size())));
  if (trend.p <= level) trend_ = trend;
}

/// Compares all of the latest points, not their median (see latest_points).
const char* Judge::state_against(double baseline) const {
  if (least(latest_) > baseline * (1 + tolerance_)) return "slower";
  if (greatest(latest_) * (1 + tolerance_) < baseline) return "faster";
  return "steady";
}

/// The median of anchor_points first undisturbed points that are within the fences of all such
/// points so far.
std::optional<double> Judge::first_level() const {
  const std::vector<double> values = values_of(undisturbed(points_, anchor_points, points_.size()));
  for (std::size_t n = anchor_points; n <= values.size(); ++n) {
    const std::span<const double> first = std::span(values).first(n);
    const Fences fences = fences_of(first);
    std::vector<double> within;
    for (const double value : first)
      if (value >= fences.low * (1 - 1e-12) && value <= fences.high * (1 + 1e-12))
        within.push_back(value);
    if (within.size() >= anchor_points) return median(within);
  }
  return std::nullopt;
}

void Judge::judge_anchored() {
  if (promoted_) {
    if (points_.size() < latest_points) {
      anchored_reason_ =
          fmt::format("{} of {} runs that are needed", points_.size(), latest_points);
      return;
    }
    anchored_ = {{"value", (*promoted_)["value"]},   {"promoted", true},
                 {"since", (*promoted_)["time"]},    {"owner", (*promoted_)["owner"]},
                 {"reason", (*promoted_)["reason"]}, {"run", (*promoted_)["run"]}};
  } else {
    const std::optional<double> level = first_level();
    if (!level) {
      anchored_reason_ =
          points_.size() < anchor_points
              ? fmt::format("{} of {} runs", points_.size(), anchor_points)
              : fmt::format("fewer than {1} of {0} runs are within their Tukey fences",
                            points_.size(), anchor_points);
      return;
    }
    anchored_ = {{"value", *level},
                 {"promoted", false},
                 {"since", points_.front().when},
                 {"owner", nullptr},
                 {"reason", fmt::format("not promoted: median of the first {} points that are "
                                        "within their Tukey fences",
                                        anchor_points)},
                 {"run", nullptr}};
  }
  const double value = anchored_["value"];
  anchored_["ratio"] = median_of(latest_) / value;
  anchored_["state"] = state_against(value);
}

void Judge::judge_rolling() {
  // A promotion accepts the level at its time, so earlier points are not part of the baseline.
  std::span<const Point> window = before_;
  if (since_)
    while (!window.empty() && window.front().time < *since_) window = window.subspan(1);
  if (window.size() < latest_points) {
    rolling_reason_ =
        fmt::format("{} before the latest {}{} ({} are needed)", counted(window.size(), "point"),
                    latest_.size(), since_ ? " and since the promotion" : "", latest_points);
    return;
  }
  const std::vector<const Point*> baseline = undisturbed(window, latest_points, rolling_points);
  const double value = median(values_of(baseline));
  rolling_ = {{"value", value},
              {"points", baseline.size()},
              {"ratio", median_of(latest_) / value},
              {"state", state_against(value)}};
}

/// Whether there is a significant change in this direction that no promotion has accepted.
bool Judge::changed(bool up) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const json& change) {
    if (promoted_ && change["index"].get<std::size_t>() <= accepted_) return false;
    const double ratio = change["ratio"];
    return up ? ratio > 1 + tolerance_ : ratio * (1 + tolerance_) < 1;
  });
}

/// The points that the last ones are compared with; none where these are too few.
std::vector<const Point*> Judge::before_last(std::size_t last) const {
  const std::size_t end = points_.size() - last;
  std::size_t first = level_start_;
  // Only points since the last change, if enough are left: a slow level that was fixed may come
  // back, and is then suspect again.
  for (const json& change : changes_)
    if (const std::size_t at = change["index"]; at + anchor_points <= end)
      first = std::max(first, at);
  if (first >= end || (!promoted_ && end - first < anchor_points - 1)) return {};
  const std::size_t enough = promoted_ ? std::min(latest_points, end - first) : anchor_points - 1;
  return undisturbed(points(first, end), enough, reference_points);
}

/// The promoted value is that of a few runs. The runs since then make it more precise, but may
/// shift it by half of the tolerance at most.
double Judge::level_of(std::span<const Point* const> reference) const {
  const double level = median(values_of(reference));
  if (!promoted_) return level;
  const double promoted = (*promoted_)["value"];
  return std::clamp(level, promoted / (1 + tolerance_ / 2), promoted * (1 + tolerance_ / 2));
}

/// Whether the last points are slower than those before: beyond the margin and beyond the fence of
/// these, and at a level that did not stay.
///
/// One or two slow values are no level of the machine: they may be the first runs of a slower
/// library. `level_points` undisturbed ones near each other are a level (a second mode of the
/// machine): only then they excuse a further slow point, and widen the fence.
bool Judge::is_suspect(std::size_t last) const {
  const std::vector<const Point*> reference = before_last(last);
  if (reference.empty()) return false;
  const double value = least(std::span(points_).last(last));
  const double limit = level_of(reference) * (1 + suspect_margin * tolerance_);
  if (value <= limit) return false;
  const auto stayed = [&](double slow) {
    const double near = 1 + tolerance_ / 2;
    return std::ranges::count_if(reference, [&](const Point* point) {
             return !point->disturbed() && point->value > limit && point->value <= slow * near &&
                    slow <= point->value * near;
           }) >= level_points;
  };
  std::vector<double> typical;
  for (const Point* point : reference)
    if (point->value <= limit || stayed(point->value)) typical.push_back(point->value);
  if (typical.size() >= latest_points && value <= fences_of(typical).high) return false;
  return !stayed(value);
}

/// The number of last points that are suspect.
std::size_t Judge::suspect_since() const {
  const std::size_t most = std::min(points_.size(), reference_points);
  for (std::size_t last = 1; last <= most; ++last)
    if (is_suspect(last)) return last;
  return 0;
}

void Judge::set_state(const char* state, const json& baseline, const char* what) {
  state_ = state;
  reason_ =
      fmt::format("the latest {} points are all {} than {} by more than {:g} %", latest_.size(),
                  baseline["state"].get<std::string>(), what, 100 * tolerance_);
}

void Judge::set_suspect(std::size_t last) {
  const std::vector<const Point*> reference = before_last(last);
  const std::span<const Point> suspects = std::span(points_).last(last);
  state_ = "suspect";
  reason_ = fmt::format(
      "{} {:.1f} % longer than {} (tolerance {:g} %), at a level that did not stay in the {} "
      "before. ",
      last == 1 ? "the last run takes" : fmt::format("the last {} runs take at least", last),
      100 * (least(suspects) / level_of(reference) - 1),
      promoted_ ? "the promoted level" : "the earlier runs", 100 * tolerance_,
      counted(reference.size(), "run"));
  if (suspects.back().shared) reason_ += "Other work used its processors (!). ";
  if (suspects.back().throttled) reason_ += "Power or heat throttled its device (\u00b0). ";
  reason_ += "The cause may be chance, the machine or the software: --confirm decides";
}

void Judge::decide() {
  if (anchored_.is_null() && points_.size() < anchor_points) {
    reason_ = anchored_reason_;
    return;
  }
  const auto is = [](const json& baseline, const char* state) {
    return !baseline.is_null() && baseline["state"] == state;
  };
  const bool rises = trend_ && trend_->slope > 0, falls = trend_ && trend_->slope < 0;
  if (is(rolling_, "slower") && changed(true)) {
    set_state("slower", rolling_, "the points before them");
  } else if (is(anchored_, "slower") && changed(true)) {
    set_state("slower", anchored_, "the anchored baseline");
  } else if (is(anchored_, "slower") && rises) {
    set_state("drifting", anchored_, "the anchored baseline");
    reason_ +=
        fmt::format(", with a trend of {:+.2g} % per run (p {:.2g}) and no step that explains it",
                    100 * std::expm1(trend_->slope), trend_->p);
  } else if (const std::size_t last = suspect_since()) {
    set_suspect(last);
  } else if (is(rolling_, "faster") && (changed(false) || falls)) {
    set_state("faster", rolling_, "the points before them");
  } else if (is(anchored_, "faster") && (changed(false) || falls)) {
    set_state("faster", anchored_, "the anchored baseline");
  } else {
    state_ = "steady";
    const bool differs = is(anchored_, "slower") || is(anchored_, "faster") ||
                         is(rolling_, "slower") || is(rolling_, "faster");
    reason_ = differs ? std::string(
                            "the latest points differ from a baseline, but no step or trend is "
                            "significant")
                      : fmt::format("not all of the latest {} points differ by more than {:g} %",
                                    latest_.size(), 100 * tolerance_);
  }
}

}  // namespace assay
