#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/history/history.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "core/base/units.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string date_of(const std::string& time) { return time.substr(0, 10); }

/// Of the latest level over a baseline. The document has the ratio of the times.
std::string speedup_over(const json& baseline) {
  return baseline.is_null() ? "-"
                            : fmt::format("{:.3f}", speedup_of(baseline["ratio"].get<double>()));
}

/// The name of a machine, with the start of its hardware hash where there are several: names may be
/// equal, or change.
std::string machine(const json& series, bool several) {
  const std::string system = series["system"];
  return several ? fmt::format("{} {}", system, series["hardware"].get<std::string>().substr(0, 8))
                 : system;
}

/// "suspect: software slower": a suspect with the answer of its confirmation.
std::string state_of(const json& series) {
  const std::string state = series["state"];
  return series.contains("confirmation")
             ? state + ": " + series["confirmation"]["answer"].get<std::string>()
             : state;
}

Line line_of(const json& series, bool several) {
  const json& points = series["points"];
  const json& changes = series["change_points"];
  std::string change = changes.empty() ? "-" : date_of(changes.back()["time"]);
  if (!changes.empty())
    change += fmt::format(" {:+.1f} %", 100 * (changes.back()["ratio"].get<double>() - 1));
  return {
      {series["id"], machine(series, several), std::to_string(points.size()),
       points.empty() ? "-" : human_seconds(points.back()["value"]) + mark_told(points.back()),
       speedup_over(series["anchored"]), speedup_over(series["rolling"]), change, state_of(series)},
      ""};
}

std::vector<std::string> details_of(const json& series) {
  std::vector<std::string> lines{series["reason"]};
  if (series.contains("confirmation"))
    lines.push_back(fmt::format("{}: {}", series["confirmation"]["answer"].get<std::string>(),
                                series["confirmation"]["reason"].get<std::string>()));
  if (const json& anchor = series["anchored"]; !anchor.is_null())
    lines.push_back(fmt::format(
        "anchored: {} since {} ({})", human_seconds(anchor["value"]), date_of(anchor["since"]),
        anchor["promoted"] == true ? fmt::format("{}: {}", anchor["owner"].get<std::string>(),
                                                 anchor["reason"].get<std::string>())
                                   : anchor["reason"].get<std::string>()));
  if (const json& rolling = series["rolling"]; !rolling.is_null())
    lines.push_back(fmt::format("rolling: {} of {} points", human_seconds(rolling["value"]),
                                rolling["points"].get<int>()));
  for (const json& change : series["change_points"])
    lines.push_back(fmt::format("{}: {} → {} ({:+.1f} %, p {:.2g})", date_of(change["time"]),
                                human_seconds(change["before"]), human_seconds(change["after"]),
                                100 * (change["ratio"].get<double>() - 1),
                                change["p"].get<double>()));
  for (const json& event : series["events"])
    lines.push_back(
        fmt::format("{}: {}", date_of(event["time"]), event["text"].get<std::string>()));
  // Runs that have no result for one reason are one line.
  const json& gaps = series["gaps"];
  for (std::size_t first = 0, end = 0; first < gaps.size(); first = end) {
    const json& gap = gaps[first];
    while (end < gaps.size() && gaps[end]["status"] == gap["status"] &&
           gaps[end]["reason"] == gap["reason"])
      ++end;
    const std::string runs =
        end - first == 1
            ? ""
            : fmt::format(" to {} ({} runs)", date_of(gaps[end - 1]["time"]), end - first);
    lines.push_back(fmt::format("{}{}: no result, {}: {}", date_of(gap["time"]), runs,
                                gap["status"].get<std::string>(),
                                gap["reason"].get<std::string>()));
  }
  return lines;
}

/// Whether there is more to know about a series than its line in the table.
bool has_details(const json& series) {
  const std::string state = series["state"];
  return (state != "steady" && state != "too short" && state != "no result") ||
         !series["change_points"].empty() || !series["gaps"].empty();
}

/// "2 series: 0 slower, 0 drifting, …": the number of series in each state.
std::string counts_of(const json& document) {
  const json& count = document["summary"];
  return fmt::format(
      "{} series: {} slower, {} drifting, {} lost, {} suspect, {} faster, {} steady, {} too "
      "short{}{}.",
      document["series"].size(), count["slower"].get<int>(), count["drifting"].get<int>(),
      count["lost"].get<int>(), count["suspect"].get<int>(), count["faster"].get<int>(),
      count["steady"].get<int>(), count["too_short"].get<int>(),
      count["retired"] == 0 ? "" : fmt::format(", {} retired", count["retired"].get<int>()),
      count["no_result"] == 0
          ? ""
          : fmt::format(", {} without a result", count["no_result"].get<int>()));
}

/// What columns and states mean; of the states only those that occur.
std::vector<std::string> legend_of(const json& document) {
  const json &settings = document["settings"], &count = document["summary"];
  const int latest = settings["latest"].get<int>();
  std::vector<std::string> lines{fmt::format("{} (the latest: the median of the latest {} points).",
                                             speedup_header("the latest", "the baseline"), latest)};
  if (count["slower"] != 0 || count["drifting"] != 0 || count["faster"] != 0)
    lines.push_back(fmt::format(
        "slower, faster, drifting: the latest {} points are outside the tolerance, and a step or "
        "trend is significant. The probability of any false alarm in all series together is {:g} "
        "%.",
        latest, 100 * settings["false_alarm_rate"].get<double>()));
  if (count["too_short"] != 0)
    lines.push_back(fmt::format(
        "too short: a series is judged from its {}th run on, after a promotion from its {}th.",
        settings["anchor"].get<int>(), latest));
  const json& all = document["series"];
  if (std::any_of(all.begin(), all.end(), [](const json& series) {
        return series["state"] == "suspect" && !series.contains("confirmation");
      }))
    lines.push_back(fmt::format(
        "suspect: the last run seems slower, as in each run up to {:g} % of the unchanged series "
        "do by chance. To decide, measure again: assay history DIR --confirm BUILD, by the assay "
        "of the new build, where BUILD is the promoted build.",
        100 * settings["suspect_rate"].get<double>()));
  return lines;
}

}  // namespace

std::string render_history(const json& document, bool markdown) {
  const json& all = document["series"];
  std::set<std::string> hardware;
  for (const json& series : all) hardware.insert(series["hardware"]);
  const bool several = hardware.size() > 1;
  Table table{titled({"id", "machine", ">runs", ">last", ">over anchored", ">over rolling",
                      ">last change", "state"})};
  std::set<std::string> marks;
  for (const json& series : all) {
    table.lines.push_back(line_of(series, several));
    if (!series["points"].empty()) marks.insert(mark_told(series["points"].back()));
  }
  Page page(markdown);
  page.table(table);
  for (const json& series : all) {
    if (!has_details(series)) continue;
    page.list(fmt::format("{} ({}, {})", series["id"].get<std::string>(), machine(series, several),
                          series["state"].get<std::string>()),
              details_of(series));
  }
  for (const json& file : document["passed_over"]) {
    page.blank();
    page.statement(fmt::format("not part of the history: {} ({})", file["what"].get<std::string>(),
                               file["reason"].get<std::string>()));
  }
  std::vector<std::string> legend = legend_of(document);
  for (const char* mark : {shared_mark, throttled_mark})
    if (marks.contains(mark)) legend.emplace_back(note_of(mark));
  page.blank();
  page.statement(counts_of(document));
  for (const std::string& line : legend) {
    page.gap();
    page.line(line);
  }
  return page.text();
}

std::string history_csv(const json& document) {
  std::vector<json> records;
  for (const json& series : document["series"]) {
    std::set<std::size_t> changes;
    for (const json& change : series["change_points"])
      changes.insert(change["index"].get<std::size_t>());
    for (std::size_t i = 0; i < series["points"].size(); ++i) {
      json& record = records.emplace_back(series["points"][i]);
      for (const char* key : {"id", "hardware", "system"}) record[key] = series[key];
      for (const char* key : {"value", "low", "high"})
        record[std::string(key) + "_s"] = record[key];
      record["change_point"] = changes.contains(i) ? 1 : 0;
    }
  }
  return csv_of({"id", "hardware", "system", "time", "run", "value_s", "low_s", "high_s",
                 "launches", "software", "change_point"},
                records);
}

}  // namespace assay
