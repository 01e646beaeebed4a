#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/history/history.hpp"
#include "analysis/junit.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "core/base/units.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

std::string date(const std::string& time) { return time.substr(0, 10); }

double percent(double ratio) { return 100 * (ratio - 1); }

std::string mark_of(const Point& point) { return assay::mark_of(point.shared, point.throttled); }

/// The name of a machine, with the start of its hardware hash where there are several: names may be
/// equal, or change.
std::string machine(const RowHistory& series, bool several) {
  return several ? fmt::format("{} {}", series.system, series.hardware.substr(0, 8))
                 : series.system;
}

Line make_line(const RowHistory& series, bool several) {
  const SeriesVerdict& verdict = series.verdict;
  const auto over = [](const auto& baseline) {
    return baseline ? fmt::format("{:.3f}", speedup_of(baseline->ratio)) : "-";
  };
  const auto last_value = [](const Point& point) {
    return human_seconds(point.value) + mark_of(point);
  };
  const auto last_change = [](const LevelChange& change) {
    return fmt::format("{} {:+.1f} %", date(change.when), percent(change.ratio));
  };
  return {{series.id, machine(series, several), std::to_string(series.points.size()),
           series.points.empty() ? "-" : last_value(series.points.back()), over(verdict.anchored),
           over(verdict.rolling),
           verdict.changes.empty() ? "-" : last_change(verdict.changes.back()),
           verdict.state + (series.confirmation ? ": " + series.confirmation->answer : "")}};
}

/// Runs that have no result for one reason are one line.
void add_gaps(const std::vector<Gap>& gaps, std::vector<std::string>& lines) {
  for (auto first = gaps.begin(), end = first; first != gaps.end(); first = end) {
    end = std::find_if(first, gaps.end(), [&](const Gap& gap) {
      return gap.status != first->status || gap.reason != first->reason;
    });
    const std::string runs =
        end - first == 1 ? ""
                         : fmt::format(" to {} ({} runs)", date(std::prev(end)->when), end - first);
    lines.push_back(fmt::format("{}{}: no result, {}: {}", date(first->when), runs, first->status,
                                first->reason));
  }
}

std::vector<std::string> list_details(const RowHistory& series) {
  const SeriesVerdict& verdict = series.verdict;
  std::vector<std::string> lines{verdict.reason};
  if (const auto& confirmation = series.confirmation)
    lines.push_back(fmt::format("{}: {}", confirmation->answer, confirmation->reason));
  if (const auto& anchor = verdict.anchored)
    lines.push_back(fmt::format("anchored: {} since {} ({}{})", human_seconds(anchor->value),
                                date(anchor->since), anchor->promoted ? anchor->owner + ": " : "",
                                anchor->reason));
  if (const auto& rolling = verdict.rolling)
    lines.push_back(
        fmt::format("rolling: {} of {} points", human_seconds(rolling->value), rolling->points));
  for (const LevelChange& change : verdict.changes)
    lines.push_back(fmt::format("{}: {} → {} ({:+.1f} %, p {:.2g})", date(change.when),
                                human_seconds(change.before), human_seconds(change.after),
                                percent(change.ratio), change.p));
  for (const Event& event : series.events)
    lines.push_back(fmt::format("{}: {}", date(event.when), event.text));
  add_gaps(series.gaps, lines);
  return lines;
}

/// Whether there is more to know about a series than its line in the table.
bool has_details(const RowHistory& series) {
  const std::string& state = series.verdict.state;
  return (state != "steady" && state != "too short" && state != "no result") ||
         !series.verdict.changes.empty() || !series.gaps.empty();
}

/// "2 series: 0 slower, 0 drifting, …": the number of series in each state.
std::string count_states(const History& history) {
  std::string text = fmt::format("{} series: ", history.series.size());
  const char* separator = "";
  for (const char* state :
       {"slower", "drifting", "lost", "suspect", "faster", "steady", "too short"}) {
    text += fmt::format("{}{} {}", separator, history.count(state), state);
    separator = ", ";
  }
  if (const auto retired = history.count("retired")) text += fmt::format(", {} retired", retired);
  if (const auto none = history.count("no result"))
    text += fmt::format(", {} without a result", none);
  return text + ".";
}

/// The meaning of the columns, and of the states that occur.
std::vector<std::string> make_legend(const History& history) {
  std::vector<std::string> lines{fmt::format("{} (the latest: the median of the latest {} points).",
                                             speedup_header("the latest", "the baseline"),
                                             latest_points)};
  if (history.count("slower") + history.count("drifting") + history.count("faster") > 0)
    lines.push_back(fmt::format(
        "slower, faster, drifting: the latest {} points are outside the tolerance, and a step or "
        "trend is significant. The probability of any false alarm in all series together is {:g} "
        "%.",
        latest_points, 100 * false_alarm_rate));
  if (history.count("too short") > 0)
    lines.push_back(fmt::format(
        "too short: a series is judged from its {}th run on, after a promotion from its {}th.",
        anchor_points, latest_points));
  if (std::ranges::any_of(history.series, [](const RowHistory& series) {
        return series.verdict.state == "suspect" && !series.confirmation;
      }))
    lines.push_back(fmt::format(
        "suspect: the last run seems slower, as in each run up to {:g} % of the unchanged series "
        "do by chance. To decide, measure again: assay history DIR --confirm BUILD, by the assay "
        "of the new build, where BUILD is the promoted build.",
        100 * suspect_rate));
  return lines;
}

void add_testcase(JunitSuite& suite, const RowHistory& series) {
  const auto& [id, state, reason] =
      std::tie(series.id, series.verdict.state, series.verdict.reason);
  if (const Gap* gap = series.last_gap()) {
    const std::string& status = gap->status;
    if (is_final(status)) return suite.add(id, "failure", status, gap->reason);
    if (status == "failed" || status == "timeout" || status == "ambiguous")
      return suite.add(id, "error", status, gap->reason);
    if (state == "lost") return suite.add(id, "failure", state, reason);
    return suite.add(id, "skipped", status, status + ": " + gap->reason);
  }
  if (const auto& confirmation = series.confirmation) {
    const std::string& answer = confirmation->answer;
    if (answer.ends_with("slower")) return suite.add(id, "failure", answer, confirmation->reason);
    if (answer == "unconfirmed") return suite.add(id, "error", answer, confirmation->reason);
  }
  if (state == "slower" || state == "drifting" || state == "lost")
    return suite.add(id, "failure", state, reason);
  // Verified, though nothing judges its speed yet.
  suite.add(id, "", "", "");
}

}  // namespace

std::string render_history(const History& history, bool markdown) {
  std::set<std::string> hardware, marks;
  for (const RowHistory& series : history.series) {
    hardware.insert(series.hardware);
    if (!series.points.empty()) marks.insert(mark_of(series.points.back()));
  }
  const bool several = hardware.size() > 1;
  Table table{titled({"id", "machine", ">runs", ">last", ">over anchored", ">over rolling",
                      ">last change", "state"})};
  for (const RowHistory& series : history.series) table.lines.push_back(make_line(series, several));
  Page page(markdown);
  page.table(table);
  for (const RowHistory& series : history.series)
    if (has_details(series))
      page.list(
          fmt::format("{} ({}, {})", series.id, machine(series, several), series.verdict.state),
          list_details(series));
  for (const PassedOver& passed : history.passed_over) {
    page.blank();
    page.statement(fmt::format("not part of the history: {} ({})", passed.what, passed.reason));
  }
  std::vector<std::string> legend = make_legend(history);
  for (const char* mark : {shared_mark, throttled_mark})
    if (marks.contains(mark)) legend.emplace_back(note_of(mark));
  page.blank();
  page.statement(count_states(history));
  for (const std::string& line : legend) {
    page.gap();
    page.line(line);
  }
  return page.text();
}

std::string history_csv(const History& history) {
  std::vector<nlohmann::json> records;
  for (const RowHistory& series : history.series)
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const Point& point = series.points[i];
      const auto changes = std::ranges::count(series.verdict.changes, i, &LevelChange::index);
      records.push_back({{"id", series.id},
                         {"hardware", series.hardware},
                         {"system", series.system},
                         {"time", point.when},
                         {"run", point.run},
                         {"value_s", point.value},
                         {"low_s", number_or_null(point.low)},
                         {"high_s", number_or_null(point.high)},
                         {"launches", point.launches},
                         {"software", point.software_hash},
                         {"change_point", changes}});
    }
  return csv_of({"id", "hardware", "system", "time", "run", "value_s", "low_s", "high_s",
                 "launches", "software", "change_point"},
                records);
}

std::string history_junit(const History& history) {
  std::map<std::string, JunitSuite> suites;
  for (const RowHistory& series : history.series)
    add_testcase(suites.try_emplace(series.benchmark, series.benchmark).first->second, series);
  std::string all;
  for (const auto& [name, suite] : suites) suite.write(all);
  return junit_text(all);
}

}  // namespace assay
