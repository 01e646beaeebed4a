#include "analysis/history/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/history/times.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The changes of the software between two points: "/libraries/oneDNN: 3.0 → 3.1".
std::string software_change(json before, json after) {
  keep_common_fields(before, after);
  const json left = before.flatten(), right = after.flatten();
  std::vector<std::string> changes;
  const auto shown = [](const json& all, const std::string& key) {
    const auto found = all.find(key);
    if (found == all.end()) return std::string("absent");
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
      changes.push_back(fmt::format("{}: absent → {}", key, shown(right, key)));
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
                      {"shared", point.shared},
                      {"throttled", point.throttled}});
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

}  // namespace

ExitCode last_run_code(const RowHistory& series) {
  if (series.gaps.empty()) return ExitCode::ok;
  const Gap& last = series.gaps.back();
  if (!series.points.empty() && series.points.back().time > last.time) return ExitCode::ok;
  if (last.status == "incorrect") return ExitCode::incorrect;
  if (last.status == "target missed") return ExitCode::target_missed;
  if (last.status == "ambiguous") return ExitCode::incomparable;
  const bool absent = last.status == "unsupported" || last.status == "missing";
  return absent ? ExitCode::ok : ExitCode::failed;
}

namespace {

/// Sets the state of a series whose result is lost, until the loss is accepted.
void judge_loss(json& judged, const RowHistory& series, const Anchors& anchors) {
  const std::optional<std::size_t> since = first_gap_of_loss(series);
  if (!since) return;
  const Gap& last = series.gaps.back();
  const json* accepted = anchors.accepted_loss(series);
  judged["state"] = accepted == nullptr ? "lost" : "retired";
  judged["reason"] =
      accepted == nullptr
          ? fmt::format("run {} had a result, the last run does not ({}: {})",
                        series.points.back().run, last.status, last.reason)
          : fmt::format("the loss was accepted by {}: {}", (*accepted)["owner"].get<std::string>(),
                        (*accepted)["reason"].get<std::string>());
}

json series_json(const RowHistory& series, const std::vector<Event>& events) {
  json made = {{"id", series.id},
               {"names", series.names},
               {"benchmark", series.benchmark},
               {"hardware", series.hardware},
               {"system", series.system},
               {"unit", "s"},
               {"points", points_json(series)},
               {"gaps", json::array()},
               {"events", events_json(series, events)}};
  for (const Gap& gap : series.gaps)
    made["gaps"].push_back(
        {{"time", gap.when}, {"run", gap.run}, {"status", gap.status}, {"reason", gap.reason}});
  return made;
}

ExitCode code_of(const std::string& state) {
  if (state == "slower" || state == "drifting") return ExitCode::slower;
  return state == "lost" ? ExitCode::incomparable : ExitCode::ok;
}

}  // namespace

json history_document(const Histories& histories, const Anchors& anchors,
                      const std::vector<Event>& events, const HistoryOptions& options) {
  constexpr double usual_tolerance = 0.05;
  const double level = options.false_alarm_rate / static_cast<double>(std::max<std::size_t>(
                                                      histories.series.size(), 1));  // Bonferroni
  json document = {{"schema", "assay-history/1"},
                   {"command", options.command},
                   {"settings",
                    {{"tolerance", options.tolerance.value_or(usual_tolerance)},
                     {"false_alarm_rate", options.false_alarm_rate},
                     {"suspect_rate", suspect_rate},
                     {"level", level},
                     {"minimum_segment", minimum_segment},
                     {"latest", latest_points},
                     {"rolling", rolling_points},
                     {"anchor", anchor_points}}},
                   {"series", json::array()},
                   {"passed_over", json::array()},
                   {"summary",
                    {{"steady", 0},
                     {"slower", 0},
                     {"faster", 0},
                     {"drifting", 0},
                     {"suspect", 0},
                     {"lost", 0},
                     {"retired", 0},
                     {"too_short", 0},
                     {"no_result", 0}}}};
  for (const auto& [what, reason] : histories.passed_over)
    document["passed_over"].push_back({{"what", what}, {"reason", reason}});
  ExitCode code = histories.series.empty() ? ExitCode::incomparable : ExitCode::ok;
  for (const RowHistory& series : histories.series) {
    json judged = series_json(series, events);
    const double tolerance = options.tolerance.value_or(series.tolerance.value_or(usual_tolerance));
    Judge(series, anchors.of(series), level, tolerance).write(judged);
    judge_loss(judged, series, anchors);
    const std::string state = judged["state"];
    std::string key = state;
    std::ranges::replace(key, ' ', '_');
    json& count = document["summary"][key];
    count = count.get<int>() + 1;
    code = gravest({code, code_of(state), last_run_code(series)});
    document["series"].push_back(std::move(judged));
  }
  document["exit_code"] = static_cast<int>(code);
  return document;
}

}  // namespace assay
