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
          {"time", utc_now()},
          {"owner", owner},
          {"reason", reason},
          {"value", nullptr},
          {"unit", "s"},
          {"run", nullptr}};
}

/// Which installation was promoted, and what it loaded, so that a later confirmation knows whether
/// it is still the same.
void add_installation(json& line, const RowHistory& series, const json& installation) {
  if (installation.is_null()) return;
  const std::string last = line["runs"].back();
  for (const Point& point : series.points) {
    if (point.run != last || point.programs != installation.at("programs")) continue;
    line["installation"] = installation;
    line["installation"]["software"] = point.software;
  }
}

}  // namespace

std::optional<std::size_t> lost_since(const RowHistory& series) {
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
    return line["id"] == series.id && line["hardware"] == series.hardware &&
           line["event"] != "accept-lost";
  });
  if (last == lines_.rend() || (*last)["event"] == "reset") return std::nullopt;
  return *last;
}

const json* Anchors::accepted_loss(const RowHistory& series) const {
  const std::optional<std::size_t> since = lost_since(series);
  if (!since) return nullptr;
  // By run, not by the clock: a number that came back and went again is lost anew.
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
  for (const RowHistory* one : named(histories, what.id)) {
    if (lost_since(*one) && accepted_loss(*one) == nullptr) {
      lost.push_back(one->id);
      json line = decision("accept-lost", *one, what.owner, what.reason);
      line["run"] = one->gaps.back().run;
      lines.push_back(std::move(line));
      continue;
    }
    std::vector<double> values;
    std::vector<std::string> from;
    for (const Point& point : one->points) {
      if (!what.run || point.run == *what.run) {
        values.push_back(point.value);
        from.push_back(point.run);
      }
      if (std::find(runs.begin(), runs.end(), point.run) == runs.end()) runs.push_back(point.run);
    }
    if (values.empty()) continue;
    json line = decision("promote", *one, what.owner, what.reason);
    const std::size_t count = std::min(values.size(), latest_points);
    line["value"] = median(std::span(values).last(count));
    line["runs"] = std::vector(from.end() - static_cast<std::ptrdiff_t>(count), from.end());
    if (what.run) line["run"] = *what.run;
    add_installation(line, *one, what.installation);
    lines.push_back(std::move(line));
  }
  if (!lost.empty() && !what.accept_lost)
    throw InputError(
        fmt::format("{} had a number and {} none in the last run (what is lost is no new level). "
                    "Bring it back, "
                    "or say --accept-lost.",
                    join(lost, ", "), lost.size() == 1 ? "has" : "have"));
  if (!lines.empty()) return lines;
  if (what.run) throw InputError(unknown_name("run", *what.run, runs));
  throw InputError(fmt::format(
      "row {} has no number yet (none of its runs is ok). Promote it once one is.", what.id));
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
