#include "analysis/history/anchors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/history/history.hpp"
#include "analysis/history/times.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/text.hpp"
#include "core/result/journal.hpp"
#include "core/result/result.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<const RowHistory*> named(const Histories& histories, const std::string& id) {
  std::vector<const RowHistory*> found;
  std::vector<std::string> ids;
  for (const RowHistory& series : histories.series) {
    if (id == "all" || series.id == id) found.push_back(&series);
    if (ids.empty() || ids.back() != series.id) ids.push_back(series.id);
  }
  if (found.empty()) throw InputError(unknown_name("row", id, ids));
  return found;
}

json decision(const char* event, const RowHistory& series, const std::string& owner,
              const std::string& reason) {
  return {{"schema", "assay-anchor/1"},
          {"event", event},
          {"id", series.id},
          {"hardware", series.hardware},
          {"time", utc_now()},
          {"owner", owner},
          {"reason", reason},
          {"value", nullptr},
          {"unit", "s"},
          {"run", nullptr}};
}

/// Records which installation was promoted, and the software that it loaded, so that a later
/// confirmation can check whether it is still the same.
void add_installation(json& line, const RowHistory& series, const json& installation) {
  if (installation.is_null()) return;
  const std::string last = line["runs"].back();
  for (const Point& point : series.points) {
    if (point.run != last || point.programs != installation.at("programs")) continue;
    line["installation"] = installation;
    line["installation"]["software"] = point.software;
  }
}

/// The line that promotes the run asked for, or the median of the last points; nothing where the
/// series has no such point.
std::optional<json> promotion_of(const RowHistory& series, const Promotion& what) {
  std::vector<double> values;
  std::vector<std::string> runs;
  for (const Point& point : series.points)
    if (!what.run || point.run == *what.run) {
      values.push_back(point.value);
      runs.push_back(point.run);
    }
  if (values.empty()) return std::nullopt;
  json line = decision("promote", series, what.owner, what.reason);
  const std::size_t count = std::min(values.size(), latest_points);
  line["value"] = median(std::span(values).last(count));
  line["statistics"] = series.points.back().statistics;
  line["runs"] = std::vector(runs.end() - static_cast<std::ptrdiff_t>(count), runs.end());
  if (what.run) line["run"] = *what.run;
  add_installation(line, series, what.installation);
  return line;
}

}  // namespace

std::optional<std::size_t> first_gap_of_loss(const RowHistory& series) {
  if (series.points.empty() || series.gaps.empty()) return std::nullopt;
  const std::string& last = series.gaps.back().status;
  if (last != "unsupported" && last != "missing") return std::nullopt;
  std::size_t first = series.gaps.size();
  while (first > 0 && series.gaps[first - 1].time > series.points.back().time) --first;
  if (first == series.gaps.size()) return std::nullopt;
  return first;
}

Anchors::Anchors(const fs::path& folder) : file_(folder / "anchors.jsonl") {
  if (!fs::exists(file_)) return;
  // As in a journal, an incomplete last line is dropped.
  lines_ = read_journal(file_);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::string shown = fmt::format("{} line {}", file_.string(), i + 1);
    const auto errors = schema_errors(lines_[i], "anchor", shown);
    if (!errors.empty()) throw InputError(errors.front());
    time_of(lines_[i]["time"], shown);
  }
}

std::optional<json> Anchors::of(const RowHistory& series) const {
  const auto last = std::find_if(lines_.rbegin(), lines_.rend(), [&](const json& line) {
    return line["id"] == series.id && line["hardware"] == series.hardware &&
           line["event"] != "accept-lost";
  });
  if (last == lines_.rend() || (*last)["event"] == "reset") return std::nullopt;
  // Its value was made by other estimators than those of the series.
  if (!series.points.empty() && last->value("statistics", 1) != series.points.back().statistics)
    return std::nullopt;
  return *last;
}

const json* Anchors::accepted_loss(const RowHistory& series) const {
  const std::optional<std::size_t> since = first_gap_of_loss(series);
  if (!since) return nullptr;
  // By run, not by time: a result that came back and disappeared again is a new loss.
  for (const json& line : lines_)
    if (line["event"] == "accept-lost" && line["id"] == series.id &&
        line["hardware"] == series.hardware)
      for (std::size_t i = *since; i < series.gaps.size(); ++i)
        if (line["run"] == series.gaps[i].run) return &line;
  return nullptr;
}

std::vector<json> Anchors::promotions(const Histories& histories, const Promotion& what) const {
  std::vector<json> lines;
  std::vector<std::string> runs, lost;
  for (const RowHistory* series : named(histories, what.id)) {
    for (const Point& point : series->points)
      if (std::find(runs.begin(), runs.end(), point.run) == runs.end()) runs.push_back(point.run);
    if (first_gap_of_loss(*series) && accepted_loss(*series) == nullptr) {
      lost.push_back(series->id);
      json line = decision("accept-lost", *series, what.owner, what.reason);
      line["run"] = series->gaps.back().run;
      lines.push_back(std::move(line));
    } else if (std::optional<json> line = promotion_of(*series, what)) {
      lines.push_back(*std::move(line));
    }
  }
  if (!lost.empty() && !what.accept_lost)
    throw InputError(fmt::format(
        "{} had a result before, but not in the last run (a missing result cannot be promoted). "
        "Restore it, or accept its loss with --accept-lost.",
        join(lost, ", ")));
  if (!lines.empty()) return lines;
  if (what.run) throw InputError(unknown_name("run", *what.run, runs));
  throw InputError(fmt::format(
      "row {} cannot be promoted (no run has an ok result of it). Promote it after such a run.",
      what.id));
}

std::vector<json> Anchors::resets(const Histories& histories, const std::string& id,
                                  const std::string& owner, const std::string& reason) const {
  std::vector<json> lines;
  for (const RowHistory* series : named(histories, id))
    if (of(*series)) lines.push_back(decision("reset", *series, owner, reason));
  if (lines.empty())
    throw InputError(fmt::format(
        "row {} has no promoted baseline (there is nothing to reset). Use --promote to set a "
        "baseline.",
        id));
  return lines;
}

void Anchors::append(const std::vector<json>& lines) const {
  Journal journal(file_);
  for (const json& line : lines) {
    const auto errors = schema_errors(line, "anchor", file_.string());
    if (!errors.empty()) throw InputError(errors.front());
    journal.append(line);
  }
}

std::vector<Event> events_of(const fs::path& folder) {
  const fs::path file = folder / "events.json";
  return fs::exists(file) ? events_in(file) : std::vector<Event>();
}

std::vector<Event> events_in(const fs::path& file) {
  std::vector<Event> events;
  const json document = read_checked(file, "events");
  for (const json& event : document.at("events")) {
    const std::string when = event.at("time");
    const std::string where = fmt::format("{} at /events/{}/time", file.string(), events.size());
    events.push_back(
        {time_of(when, where), when, event.at("text"), event.value("hardware", std::string())});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  return events;
}

}  // namespace assay
