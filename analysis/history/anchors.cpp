#include "analysis/history/anchors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/history/history.hpp"
#include "core/base/clock.hpp"
#include "core/base/json_fields.hpp"
#include "core/base/text.hpp"
#include "core/result/journal.hpp"
#include "core/result/schema.hpp"

namespace assay {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<const RowHistory*> find_named_series(const History& history, const std::string& id) {
  std::vector<const RowHistory*> named;
  std::vector<std::string> ids;
  for (const RowHistory& series : history.series) {
    if (id == "all" || series.id == id) named.push_back(&series);
    if (ids.empty() || ids.back() != series.id) ids.push_back(series.id);
  }
  if (named.empty()) throw InputError(explain_unknown_name("row", id, ids));
  return named;
}

bool concerns(const Anchor& line, const RowHistory& series) {
  return line.id == series.id && line.hardware == series.hardware;
}

Anchor make_decision(const char* event, const RowHistory& series, const std::string& owner,
                     const std::string& reason) {
  return {event, series.id, series.hardware, format_utc_now(), owner, reason};
}

/// The line that promotes the requested run, or the median of the last points; nothing if the
/// series has no such point.
std::optional<Anchor> make_promotion(const RowHistory& series, const Promotion& promotion) {
  std::vector<double> values;
  std::vector<std::string> runs;
  for (const Point& point : series.points)
    if (!promotion.run || point.run == *promotion.run) {
      values.push_back(point.value);
      runs.push_back(point.run);
    }
  if (values.empty()) return std::nullopt;
  Anchor line = make_decision("promote", series, promotion.owner, promotion.reason);
  const std::size_t count = std::min(values.size(), latest_points);
  line.value = median(std::span(values).last(count));
  line.statistics = series.points.back().statistics;
  line.runs.assign(runs.end() - static_cast<std::ptrdiff_t>(count), runs.end());
  line.run = promotion.run.value_or("");
  // Only the build of the promoted run can be launched again for it.
  for (const Point& point : series.points)
    if (promotion.build && point.run == runs.back() && point.programs == promotion.build->programs)
      line.build = {point.programs, promotion.build->hash, point.software};
  return line;
}

void check_line(const json& line, const std::string& shown) {
  const auto errors = find_schema_errors(line, "anchor", shown);
  if (!errors.empty()) throw InputError(errors.front());
}

}  // namespace

std::optional<std::size_t> first_gap_of_loss(const RowHistory& series) {
  const Gap* last = series.last_gap();
  if (last == nullptr || series.points.empty()) return std::nullopt;
  if (last->status != "unsupported" && last->status != "missing") return std::nullopt;
  std::size_t first = series.gaps.size();
  while (first > 0 && series.gaps[first - 1].time > series.points.back().time) --first;
  return first < series.gaps.size() ? std::optional(first) : std::nullopt;
}

Anchors::Anchors(const fs::path& folder) : file_(folder / "anchors.jsonl") {
  if (!fs::exists(file_)) return;
  // An incomplete last line is dropped, as in a journal.
  for (const json& line : read_journal(file_)) {
    const std::string shown = fmt::format("{} line {}", file_.string(), lines_.size() + 1);
    check_line(line, shown);
    parse_time(lines_.emplace_back(line.get<Anchor>()).time, shown);
  }
}

const Anchor* Anchors::find(const RowHistory& series) const {
  const auto last = std::find_if(lines_.rbegin(), lines_.rend(), [&](const Anchor& line) {
    return concerns(line, series) && line.event != "accept-lost";
  });
  if (last == lines_.rend() || last->event == "reset") return nullptr;
  // If its value comes from other estimators than those of the series, it cannot be compared with
  // the series.
  const bool differs =
      !series.points.empty() && last->statistics.value_or(1) != series.points.back().statistics;
  return differs ? nullptr : &*last;
}

const Anchor* Anchors::find_accepted_loss(const RowHistory& series) const {
  const std::optional<std::size_t> since = first_gap_of_loss(series);
  if (!since) return nullptr;
  // The key is the run, not the time, because a result that came back and disappeared again is a
  // new loss.
  const auto line = std::ranges::find_if(lines_, [&](const Anchor& anchor) {
    return anchor.event == "accept-lost" && concerns(anchor, series) &&
           std::any_of(series.gaps.begin() + static_cast<std::ptrdiff_t>(*since), series.gaps.end(),
                       [&](const Gap& gap) { return gap.run == anchor.run; });
  });
  return line == lines_.end() ? nullptr : &*line;
}

std::vector<Anchor> Anchors::promotions(const History& history, const Promotion& promotion) const {
  std::vector<Anchor> lines;
  std::vector<std::string> runs, lost;
  for (const RowHistory* series : find_named_series(history, promotion.id)) {
    for (const Point& point : series->points)
      if (std::ranges::find(runs, point.run) == runs.end()) runs.push_back(point.run);
    if (first_gap_of_loss(*series) && find_accepted_loss(*series) == nullptr) {
      lost.push_back(series->id);
      lines.push_back(make_decision("accept-lost", *series, promotion.owner, promotion.reason));
      lines.back().run = series->gaps.back().run;
    } else if (std::optional<Anchor> line = make_promotion(*series, promotion)) {
      lines.push_back(*std::move(line));
    }
  }
  if (!lost.empty() && !promotion.accept_lost)
    throw InputError(fmt::format(
        "{} had a result before, but not in the last run (a missing result cannot be promoted). "
        "Restore it, or accept its loss with --accept-lost.",
        join(lost, ", ")));
  if (!lines.empty()) return lines;
  if (promotion.run) throw InputError(explain_unknown_name("run", *promotion.run, runs));
  throw InputError(fmt::format(
      "row {} cannot be promoted (no run has an ok result of it). Promote it after such a run.",
      promotion.id));
}

std::vector<Anchor> Anchors::resets(const History& history, const std::string& id,
                                    const std::string& owner, const std::string& reason) const {
  std::vector<Anchor> lines;
  for (const RowHistory* series : find_named_series(history, id))
    if (find(*series) != nullptr) lines.push_back(make_decision("reset", *series, owner, reason));
  if (lines.empty())
    throw InputError(fmt::format(
        "row {} has no promoted baseline (there is nothing to reset). Use --promote to set a "
        "baseline.",
        id));
  return lines;
}

void Anchors::append(const std::vector<Anchor>& lines) const {
  Journal journal(file_);
  for (const json line : lines) {
    check_line(line, file_.string());
    journal.append(line);
  }
}

std::vector<Event> read_events(const fs::path& file) {
  std::vector<Event> events;
  if (!fs::exists(file)) return events;
  const json document = read_checked(file, "events");
  for (const json& event : document.at("events")) {
    const std::string where = fmt::format("{} at /events/{}/time", file.string(), events.size());
    Event& read = events.emplace_back();
    FieldReader fields(event);
    fields.optional("time", read.when, "text", read.text, "hardware", read.hardware);
    read.time = parse_time(read.when, where);
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  return events;
}

}  // namespace assay
