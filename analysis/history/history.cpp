#include "analysis/history/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/history/times.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

double median_of(std::span<const Point> points) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.value);
  return median(values);
}

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// What changed in the software between two points: "/libraries/oneDNN: 3.0 → 3.1".
std::string software_change(const json& before, const json& after) {
  const json left = before.flatten(), right = after.flatten();
  std::vector<std::string> changes;
  const auto shown = [](const json& all, const std::string& key) {
    const auto found = all.find(key);
    if (found == all.end()) return std::string("nothing");
    std::string text = found->is_string() ? found->get<std::string>() : found->dump();
    if (text.size() > 40)
      text = json(text.substr(0, 37)).dump(-1, ' ', false, json::error_handler_t::ignore) + "...";
    return text;
  };
  for (const auto& [key, value] : left.items())
    if (!right.contains(key) || right[key] != value)
      changes.push_back(fmt::format("{}: {} → {}", key, shown(left, key), shown(right, key)));
  for (const auto& [key, value] : right.items())
    if (!left.contains(key))
      changes.push_back(fmt::format("{}: nothing → {}", key, shown(right, key)));
  if (changes.empty()) return "software changed";
  constexpr std::size_t most = 3;
  const std::size_t count = changes.size();
  if (count > most) changes.resize(most);
  return join(changes, ", ") + (count > most ? fmt::format(" and {} more", count - most) : "");
}

json points_json(const RowHistory& series) {
  json points = json::array();
  for (const Point& point : series.points)
    points.push_back({{"time", point.when},
                      {"value", point.value},
                      {"low", point.spread ? json(point.spread->low) : json()},
                      {"high", point.spread ? json(point.spread->high) : json()},
                      {"launches", point.launches},
                      {"software", point.software_hash},
                      {"run", point.run},
                      {"shared", point.shared}});
  return points;
}

json events_json(const RowHistory& series, const std::vector<Event>& events) {
  std::vector<std::pair<double, json>> all;
  for (const Event& event : events)
    if (event.hardware.empty() || event.hardware == series.hardware)
      all.emplace_back(event.time,
                       json{{"time", event.when}, {"text", event.text}, {"kind", "event"}});
  for (std::size_t i = 1; i < series.points.size(); ++i) {
    const Point &before = series.points[i - 1], &after = series.points[i];
    if (before.software_hash != after.software_hash)
      all.emplace_back(after.time, json{{"time", after.when},
                                        {"text", software_change(before.software, after.software)},
                                        {"kind", "software"}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  json made = json::array();
  for (auto& [time, event] : all) made.push_back(std::move(event));
  return made;
}

class Judge {
 public:
  Judge(const RowHistory& series, const Anchors& anchors, double level, double tolerance)
      : points_(series.points), tolerance_(tolerance) {
    find_changes(series, level);
    if (points_.empty()) {
      anchored_reason_ = rolling_reason_ = reason_ = "there is no number in any run";
      return;
    }
    latest_ = std::span(points_).last(std::min(points_.size(), latest_points));
    before_ = std::span(points_).first(points_.size() - latest_.size());
    judge_anchored(anchors.of(series));
    judge_rolling();
    decide();
  }

  void write(json& into) const {
    into["tolerance"] = tolerance_;
    into["change_points"] = changes_;
    into["change_points_reason"] = changes_reason_.empty() ? json() : json(changes_reason_);
    into["latest"] = nullptr;
    if (!latest_.empty())
      into["latest"] = {{"value", median_of(latest_)},
                        {"low", least()},
                        {"high", greatest()},
                        {"points", latest_.size()},
                        {"since", latest_.front().when}};
    into["anchored"] = anchored_;
    into["anchored_reason"] = anchored_.is_null() ? json(anchored_reason_) : json();
    into["rolling"] = rolling_;
    into["rolling_reason"] = rolling_.is_null() ? json(rolling_reason_) : json();
    into["state"] = state_;
    into["reason"] = reason_;
  }

 private:
  static bool by_value(const Point& a, const Point& b) { return a.value < b.value; }
  double least() const { return std::min_element(latest_.begin(), latest_.end(), by_value)->value; }
  double greatest() const {
    return std::max_element(latest_.begin(), latest_.end(), by_value)->value;
  }

  void find_changes(const RowHistory& series, double level) {
    const std::size_t n = points_.size();
    if (!can_find(n, level)) {
      std::size_t needed = n;
      while (!can_find(needed, level)) ++needed;
      changes_reason_ = fmt::format("{} (a step that chance does not explain needs {})",
                                    plural(n, "point"), needed);
      return;
    }
    std::vector<double> logs;
    for (const Point& point : points_) logs.push_back(std::log(point.value));
    // A series' own seed: what else is looked at changes nothing.
    const std::string name = series.id + " " + series.hardware;
    std::seed_seq words(name.begin(), name.end());
    std::array<std::uint32_t, 2> seed{};
    words.generate(seed.begin(), seed.end());
    const std::vector<ChangePoint> found =
        change_points(logs, level, std::uint64_t{seed[0]} << 32 | seed[1]);
    for (std::size_t i = 0; i < found.size(); ++i) {
      // The neighbourhood of the step, not whole segments: drift within them is no part of it.
      const std::size_t first = i == 0 ? 0 : found[i - 1].index, at = found[i].index;
      const std::size_t end = i + 1 < found.size() ? found[i + 1].index : n;
      const std::span<const Point> all(points_);
      const double before =
          median_of(all.subspan(first, at - first).last(std::min(at - first, rolling_points)));
      const double after = median_of(all.subspan(at, std::min(end - at, rolling_points)));
      changes_.push_back({{"time", points_[at].when},
                          {"index", at},
                          {"before", before},
                          {"after", after},
                          {"ratio", after / before},
                          {"p", found[i].p}});
    }
  }

  /// All of the latest points, not their median: see latest_points.
  const char* state_against(double baseline) const {
    if (least() > baseline * (1 + tolerance_)) return "slower";
    if (greatest() * (1 + tolerance_) < baseline) return "faster";
    return "steady";
  }

  void judge_anchored(const std::optional<json>& promoted) {
    const std::string few =
        fmt::format("{} ({} are needed to judge", plural(points_.size(), "point"), latest_points);
    if (promoted) {
      since_ = time_of((*promoted)["time"], "anchors.jsonl");
      if (points_.size() < latest_points) {
        anchored_reason_ = few + ")";
        return;
      }
      anchored_ = {{"value", (*promoted)["value"]},   {"promoted", true},
                   {"since", (*promoted)["time"]},    {"owner", (*promoted)["owner"]},
                   {"reason", (*promoted)["reason"]}, {"run", (*promoted)["run"]}};
    } else {
      if (points_.size() < 2 * latest_points) {
        anchored_reason_ =
            fmt::format("{}, and {} before them for a baseline)", few, latest_points);
        return;
      }
      anchored_ = {{"value", median_of(std::span(points_).first(latest_points))},
                   {"promoted", false},
                   {"since", points_.front().when},
                   {"owner", nullptr},
                   {"reason", fmt::format("nobody promoted one: the median of the first {} points",
                                          latest_points)},
                   {"run", nullptr}};
    }
    const double value = anchored_["value"];
    anchored_["ratio"] = median_of(latest_) / value;
    anchored_["state"] = state_against(value);
  }

  void judge_rolling() {
    // A promotion accepts the level of its day: what was before it is no baseline any more.
    std::span<const Point> window = before_;
    if (since_)
      while (!window.empty() && window.front().time < *since_) window = window.subspan(1);
    if (window.size() < latest_points) {
      rolling_reason_ =
          fmt::format("{} before the latest {}{} ({} are needed)", plural(window.size(), "point"),
                      latest_.size(), since_ ? " and since the promotion" : "", latest_points);
      return;
    }
    window = window.last(std::min(window.size(), rolling_points));
    const double value = median_of(window);
    rolling_ = {{"value", value},
                {"points", window.size()},
                {"ratio", median_of(latest_) / value},
                {"state", state_against(value)}};
  }

  bool step_explains() const {
    return std::any_of(changes_.begin(), changes_.end(), [&](const json& change) {
      const bool accepted = since_ && points_[change["index"].get<std::size_t>()].time < *since_;
      return !accepted && change["ratio"].get<double>() > 1 + tolerance_;
    });
  }

  void decide() {
    const auto is = [](const json& baseline, const char* state) {
      return !baseline.is_null() && baseline["state"] == state;
    };
    const auto say = [&](const char* state, const json& baseline, const char* what) {
      state_ = state;
      reason_ = fmt::format("the latest {} are all {} than {} by more than {:g} %", latest_.size(),
                            baseline["state"].get<std::string>(), what, 100 * tolerance_);
    };
    if (anchored_.is_null() && rolling_.is_null())
      reason_ = anchored_reason_;
    else if (is(rolling_, "slower"))
      say("slower", rolling_, "the points before them");
    else if (is(anchored_, "slower") && step_explains())
      say("slower", anchored_, "the anchored baseline");
    else if (is(anchored_, "slower")) {
      say("drifting", anchored_, "the anchored baseline");
      reason_ += ", without a step that explains it";
    } else if (is(rolling_, "faster"))
      say("faster", rolling_, "the points before them");
    else if (is(anchored_, "faster"))
      say("faster", anchored_, "the anchored baseline");
    else {
      state_ = "steady";
      reason_ =
          fmt::format("the latest {} are not all beyond {:g} %", latest_.size(), 100 * tolerance_);
    }
  }

  const std::vector<Point>& points_;
  double tolerance_;
  std::span<const Point> latest_, before_;
  std::optional<double> since_;  ///< of a promotion
  json changes_ = json::array(), anchored_, rolling_;
  std::string changes_reason_, anchored_reason_, rolling_reason_, reason_, state_ = "too short";
};

/// The row's last run, if that is one without a number: what is not ok is never hidden by what was.
ExitCode last_run(const RowHistory& series) {
  if (series.gaps.empty()) return ExitCode::ok;
  const Gap& last = series.gaps.back();
  if (!series.points.empty() && series.points.back().time > last.time) return ExitCode::ok;
  if (last.status == "incorrect") return ExitCode::incorrect;
  if (last.status == "ambiguous" || last.status == "missing") return ExitCode::incomparable;
  return last.status == "unsupported" ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

json history_document(const Histories& histories, const Anchors& anchors,
                      const std::vector<Event>& events, const HistoryOptions& options) {
  constexpr double usual_tolerance = 0.05;
  const double level = options.false_alarm_rate / static_cast<double>(std::max<std::size_t>(
                                                      histories.series.size(), 1));  // Bonferroni
  json document = {
      {"schema", "assay-history/1"},
      {"command", options.command},
      {"settings",
       {{"tolerance", options.tolerance.value_or(usual_tolerance)},
        {"false_alarm_rate", options.false_alarm_rate},
        {"level", level},
        {"minimum_segment", minimum_segment},
        {"latest", latest_points},
        {"rolling", rolling_points}}},
      {"series", json::array()},
      {"passed_over", json::array()},
      {"summary",
       {{"steady", 0}, {"slower", 0}, {"faster", 0}, {"drifting", 0}, {"too_short", 0}}}};
  for (const auto& [what, reason] : histories.passed_over)
    document["passed_over"].push_back({{"what", what}, {"reason", reason}});
  ExitCode code = ExitCode::ok;
  std::size_t judged = 0;
  for (const RowHistory& series : histories.series) {
    json one = {{"id", series.id},
                {"names", series.names},
                {"benchmark", series.benchmark},
                {"hardware", series.hardware},
                {"system", series.system},
                {"unit", "s"},
                {"points", points_json(series)},
                {"gaps", json::array()},
                {"events", events_json(series, events)}};
    for (const Gap& gap : series.gaps)
      one["gaps"].push_back(
          {{"time", gap.when}, {"run", gap.run}, {"status", gap.status}, {"reason", gap.reason}});
    const double tolerance = options.tolerance.value_or(series.tolerance.value_or(usual_tolerance));
    Judge(series, anchors, level, tolerance).write(one);
    const std::string state = one["state"];
    json& count = document["summary"][state == "too short" ? "too_short" : state];
    count = count.get<int>() + 1;
    if (state == "slower" || state == "drifting") code = gravest(code, ExitCode::slower);
    if (state != "too short") ++judged;
    code = gravest(code, last_run(series));
    document["series"].push_back(std::move(one));
  }
  if (histories.series.empty())
    code = gravest(code, ExitCode::incomparable);
  else if (judged == 0)
    code = gravest(code, ExitCode::inconclusive);
  document["exit_code"] = static_cast<int>(code);
  return document;
}

}  // namespace assay
