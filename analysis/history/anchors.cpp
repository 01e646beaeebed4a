#include "analysis/history/anchors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/history/history.hpp"
#include "analysis/history/times.hpp"
#include "core/error.hpp"
#include "core/journal.hpp"
#include "core/result.hpp"
#include "core/schema.hpp"
#include "core/statistics.hpp"
#include "core/text.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<const RowHistory*> named(const Histories& histories, const std::string& id) {
  std::vector<const RowHistory*> found;
  std::vector<std::string> ids;
  for (const RowHistory& one : histories.series) {
    if (id == "all" || one.id == id) found.push_back(&one);
    if (ids.empty() || ids.back() != one.id) ids.push_back(one.id);
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
          {"time", now()},
          {"owner", owner},
          {"reason", reason},
          {"value", nullptr},
          {"unit", "s"},
          {"run", nullptr}};
}

}  // namespace

Anchors::Anchors(const fs::path& folder) : file_(folder / "anchors.jsonl") {
  if (!fs::exists(file_)) return;
  // A journal: whole lines, a torn last one is none.
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
    return line["id"] == series.id && line["hardware"] == series.hardware;
  });
  if (last == lines_.rend() || (*last)["event"] == "reset") return std::nullopt;
  return *last;
}

std::vector<json> Anchors::promotions(const Histories& histories, const std::string& id,
                                      const std::optional<std::string>& run,
                                      const std::string& owner, const std::string& reason) {
  std::vector<json> lines;
  std::vector<std::string> runs;
  for (const RowHistory* one : named(histories, id)) {
    std::vector<double> values;
    for (const Point& point : one->points) {
      if (!run || point.run == *run) values.push_back(point.value);
      if (std::find(runs.begin(), runs.end(), point.run) == runs.end()) runs.push_back(point.run);
    }
    if (values.empty()) continue;
    json line = decision("promote", *one, owner, reason);
    const std::size_t count = std::min(values.size(), latest_points);
    line["value"] = median(std::span(values).last(count));
    if (run) line["run"] = *run;
    lines.push_back(std::move(line));
  }
  if (!lines.empty()) return lines;
  if (run) throw InputError(unknown_name("run", *run, runs));
  throw InputError(fmt::format(
      "row {} has no number yet (none of its runs is ok). Promote it once one is.", id));
}

std::vector<json> Anchors::resets(const Histories& histories, const std::string& id,
                                  const std::string& owner, const std::string& reason) const {
  std::vector<json> lines;
  for (const RowHistory* one : named(histories, id))
    if (of(*one)) lines.push_back(decision("reset", *one, owner, reason));
  if (lines.empty())
    throw InputError(fmt::format(
        "row {} has no promoted baseline (there is nothing to reset). Promote one with --promote.",
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
  std::vector<Event> events;
  if (!fs::exists(file)) return events;
  const json document = read_checked(file, "events");
  for (const json& one : document.at("events")) {
    const std::string when = one.at("time");
    const std::string where = fmt::format("{} at /events/{}/time", file.string(), events.size());
    events.push_back(
        {time_of(when, where), when, one.at("text"), one.value("hardware", std::string())});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  return events;
}

}  // namespace assay
