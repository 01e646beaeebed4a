#include "analysis/history/history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "core/machine/environment.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The changes of the software between two points: "/libraries/oneDNN: 3.0 → 3.1".
std::string software_change(json before, json after) {
  keep_common_fields(before, after);
  const json left = before.flatten(), right = after.flatten();
  const auto describe_value = [](const json& all, const std::string& key) {
    const auto value = all.find(key);
    if (value == all.end()) return std::string("absent");
    std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    if (text.size() > 40)
      text = json(text.substr(0, 37)).dump(-1, ' ', false, json::error_handler_t::ignore) + "...";
    return text;
  };
  std::vector<std::string> changes;
  const auto add = [&](const std::string& key) {
    changes.push_back(
        fmt::format("{}: {} → {}", key, describe_value(left, key), describe_value(right, key)));
  };
  for (const auto& [key, value] : left.items())
    if (!right.contains(key) || right[key] != value) add(key);
  for (const auto& [key, value] : right.items())
    if (!left.contains(key)) add(key);
  if (changes.empty()) return "software changed";
  constexpr std::size_t most = 3;
  const std::size_t count = changes.size();
  changes.resize(std::min(count, most));
  return join(changes, ", ") + (count > most ? fmt::format(" and {} more", count - most) : "");
}

/// The events that concern a series, and the changes of its software, by time.
std::vector<Event> select_events(const RowHistory& series, const std::vector<Event>& all) {
  std::vector<Event> events;
  for (const Event& event : all)
    if (event.hardware.empty() || event.hardware == series.hardware) events.push_back(event);
  for (std::size_t i = 1; i < series.points.size(); ++i) {
    const Point &before = series.points[i - 1], &after = series.points[i];
    if (before.software_hash != after.software_hash)
      events.push_back({after.time, after.when, software_change(before.software, after.software),
                        series.hardware, "software"});
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  return events;
}

/// Sets the state of a series whose result is lost, unless the loss is accepted.
void judge_loss(RowHistory& series, const Anchors& anchors) {
  if (series.last_gap() != nullptr) series.verdict.last_ratio.reset();  // the last run has no time
  if (!first_gap_of_loss(series)) return;
  const Gap& last = series.gaps.back();
  const Anchor* accepted = anchors.find_accepted_loss(series);
  series.verdict.state = accepted == nullptr ? "lost" : "retired";
  series.verdict.size.reset();
  series.verdict.reason =
      accepted == nullptr
          ? fmt::format("run {} had a result, the last run does not ({}: {})",
                        series.points.back().run, last.status, last.reason)
          : fmt::format("the loss was accepted by {}: {}", accepted->owner, accepted->reason);
}

ExitCode state_code(const std::string& state) {
  if (state == "slower" || state == "drifting") return ExitCode::slower;
  return state == "lost" ? ExitCode::incomparable : ExitCode::ok;
}

}  // namespace

ExitCode last_run_code(const RowHistory& series) {
  const Gap* last = series.last_gap();
  if (last == nullptr || last->status == "unsupported" || last->status == "missing")
    return ExitCode::ok;
  if (last->status == "incorrect") return ExitCode::incorrect;
  if (last->status == "target missed") return ExitCode::target_missed;
  return last->status == "ambiguous" ? ExitCode::incomparable : ExitCode::failed;
}

History judge_history(History history, const Anchors& anchors, const std::vector<Event>& events,
                      std::optional<double> tolerance) {
  HistorySettings& settings = history.settings;
  settings.level = false_alarm_rate / static_cast<double>(std::max<std::size_t>(
                                          history.series.size(), 1));  // Bonferroni
  history.code = history.series.empty() ? ExitCode::incomparable : ExitCode::ok;
  for (RowHistory& series : history.series) {
    series.events = select_events(series, events);
    series.verdict =
        judge_series(series, anchors.find(series), settings.level,
                     tolerance.value_or(series.tolerance.value_or(settings.tolerance)));
    judge_loss(series, anchors);
    history.code =
        find_gravest({history.code, state_code(series.verdict.state), last_run_code(series)});
  }
  settings.tolerance = tolerance.value_or(settings.tolerance);
  return history;
}

}  // namespace assay
