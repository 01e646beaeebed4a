#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/history/history.hpp"
#include "analysis/junit.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

std::string date(const std::string& time) { return time.substr(0, 10); }

double percent(double ratio) { return 100 * (ratio - 1); }

std::string choose_mark(const Point& point) {
  return assay::choose_mark(point.shared, point.throttled);
}

/// The name of a machine, with the beginning of its hardware hash if there are several machines,
/// because names may be equal or change.
std::string machine(const RowHistory& series, bool several) {
  return several ? fmt::format("{} {}", series.system, series.hardware.substr(0, 8))
                 : series.system;
}

std::string format_speedup(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f}", compute_speedup(*ratio)) : "-";
}

std::string format_change(double ratio) { return fmt::format("{:+.1f} %", percent(ratio)); }

/// The change that fresh launches have shown, in the software or in the machine.
std::string describe_confirmation(const RowHistory& series) {
  const auto& answer = series.confirmation;
  if (!answer || !answer->ratio) return "-";
  if (answer->answer == "machine slower" && answer->base_s && answer->level_s)
    return "machine " + format_change(*answer->base_s / *answer->level_s);
  return format_change(*answer->ratio);
}

/// "95 % interval of the change: +0.4 to +2.1 %", or "".
std::string format_interval(const Confirmation& answer) {
  if (!answer.interval) return "";
  const auto [low, high] = *answer.interval;
  return fmt::format("; the new build: {}, 95 % interval {:+.1f} to {:+.1f} %",
                     format_change(*answer.ratio), percent(low), percent(high));
}

std::string format_last_point(const RowHistory& series) {
  return series.points.empty()
             ? "-"
             : format_seconds(series.points.back().value) + choose_mark(series.points.back());
}

std::string describe_state(const RowHistory& series) {
  return series.verdict.state + (series.confirmation ? ": " + series.confirmation->answer : "");
}

std::string format_step(const RowHistory& series) {
  if (series.verdict.changes.empty()) return "-";
  const LevelChange& change = series.verdict.changes.back();
  return date(change.when) + " " + format_change(change.ratio);
}

/// The table of all series. Columns that no series fills are left out; on a narrow terminal also
/// those that matter least for the decision.
Table make_table(const std::vector<RowHistory>& all, bool several) {
  Table table{{}, std::vector<Line>(all.size())};
  const auto add = [&](Column column, const auto& text, const char* note = "") {
    table.add(std::move(column), [&](std::size_t i) { return text(all[i]); });
    table.columns.back().legend.add(note);
  };
  const auto any = [&](const auto& has) { return std::ranges::any_of(all, has); };
  add({"id"}, [](const RowHistory& series) { return series.id; });
  const auto name = [&](const RowHistory& series) { return machine(series, several); };
  // The machine distinguishes series of several machines with the same id.
  const bool apart =
      any([&](const RowHistory& series) { return name(series) != name(all.front()); });
  add({"machine", false, "", apart ? 0 : 4}, name);
  add({"runs", true, "", 1},
      [](const RowHistory& series) { return std::to_string(series.points.size()); });
  add({"last", true}, format_last_point);
  if (any([](const RowHistory& series) { return series.verdict.last_ratio.has_value(); }))
    add(
        {"last over promoted", true},
        [](const RowHistory& series) { return format_speedup(series.verdict.last_ratio); },
        "last over promoted: the same of the last run alone, over the level that was promoted.");
  const auto over = [](const auto& baseline) {
    return format_speedup(baseline ? std::optional(baseline->ratio) : std::nullopt);
  };
  add({"over anchored", true},
      [&](const RowHistory& series) { return over(series.verdict.anchored); });
  add({"over rolling", true, "", 2},
      [&](const RowHistory& series) { return over(series.verdict.rolling); });
  add({"last step", true, "", 3}, format_step);
  const auto has_size = [](const RowHistory& series) { return series.verdict.size.has_value(); };
  add(
      {"change", true},
      [](const RowHistory& series) {
        return series.verdict.size ? format_change(*series.verdict.size) : "-";
      },
      any(has_size) ? "change: of the time, from the baseline or level that the state refers to; "
                      "above 0 slower."
                    : "");
  if (any([](const RowHistory& series) {
        return series.confirmation && series.confirmation->ratio.has_value();
      }))
    add({"confirmed", true}, describe_confirmation,
        "confirmed: change of the time from the promoted build to the new one by fresh launches of "
        "both; machine: of the promoted build from its promoted level.");
  add({"state"}, describe_state);
  return table;
}

/// Runs without a result for the same reason share one line.
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
  std::vector<std::string> lines{series.describe_reason()};
  if (const auto& confirmation = series.confirmation)
    lines.push_back(fmt::format("{}: {}{}", confirmation->answer, confirmation->reason,
                                format_interval(*confirmation)));
  if (const auto& anchor = verdict.anchored)
    lines.push_back(fmt::format("anchored: {} since {} ({}{})", format_seconds(anchor->value),
                                date(anchor->since), anchor->promoted ? anchor->owner + ": " : "",
                                anchor->reason));
  if (const auto& rolling = verdict.rolling)
    lines.push_back(fmt::format("rolling: {} of {}", format_seconds(rolling->value),
                                format_count(rolling->points, "point")));
  for (const LevelChange& change : verdict.changes)
    lines.push_back(fmt::format("{}: {} → {} ({:+.1f} %, p {:.2g})", date(change.when),
                                format_seconds(change.before), format_seconds(change.after),
                                percent(change.ratio), change.p));
  for (const Event& event : series.events)
    lines.push_back(fmt::format("{}: {}", date(event.when), event.text));
  add_gaps(series.gaps, lines);
  return lines;
}

/// True if there is more information on a series than its line in the table.
bool has_details(const RowHistory& series) {
  const std::string& state = series.verdict.state;
  return (state != "steady" && state != "too short" && state != "no result") ||
         !series.verdict.changes.empty() || !series.gaps.empty();
}

/// A suspect that no fresh launches have answered.
bool is_open(const RowHistory& series) {
  return series.verdict.state == "suspect" && !series.confirmation;
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
Legend make_legend(const History& history, const Table& table) {
  Legend legend;
  legend.add(fmt::format("{} (the latest: the median of the latest {} points).",
                         format_speedup_header("the latest", "the baseline"), latest_points));
  for (const Column& column : table.columns) legend.merge(column.legend);
  if (history.count("slower") + history.count("drifting") + history.count("faster") > 0)
    legend.add(fmt::format(
        "slower, faster, drifting: the latest {} points are outside the tolerance, and a step or "
        "trend is significant. The probability of any false alarm in all series together is {:g} "
        "%.",
        latest_points, 100 * false_alarm_rate));
  if (history.count("too short") > 0)
    legend.add(fmt::format(
        "too short: a series is judged from its {}th run on, after a promotion from its {}th.",
        anchor_points, latest_points));
  if (std::ranges::any_of(history.series, is_open))
    legend.add(fmt::format(
        "suspect: the last run seems slower. By chance alone, up to {:g} % of unchanged series do "
        "in each run.",
        100 * suspect_rate));
  return legend;
}

/// The commands that decide about suspects, on lines that are never broken.
void add_decision(Page& page, const History& history) {
  if (std::ranges::none_of(history.series, is_open)) return;
  const auto command = [&](const std::string& text, const char* flags) {
    page.gap();
    page.line(text);
    page.statement("  " + history.command + flags);
  };
  const auto promoted = [](const RowHistory& series) {
    return series.verdict.anchored && series.verdict.anchored->promoted;
  };
  if (std::ranges::none_of(history.series, promoted))
    command("Nothing was promoted. RUN: a run of the build to compare with. First, by its assay:",
            " --promote all --owner NAME --reason TEXT --value-from RUN");
  else if (!std::ranges::all_of(history.series, [&](const RowHistory& series) {
             return !is_open(series) || promoted(series);
           }))
    command(
        "Some of these rows were never promoted. RUN: a run of the build to compare with. "
        "First, by its assay, for each such ID:",
        " --promote ID --owner NAME --reason TEXT --value-from RUN");
  command("To decide, measure again, by the assay of the new build; BUILD is the promoted one:",
          " --confirm BUILD");
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
  // Verified, although its speed cannot be judged yet.
  suite.add(id, "", "", "");
}

}  // namespace

std::string render_history(const History& history, bool markdown) {
  std::set<std::string> hardware, marks;
  for (const RowHistory& series : history.series) {
    hardware.insert(series.hardware);
    if (!series.points.empty()) marks.insert(choose_mark(series.points.back()));
  }
  const bool several = hardware.size() > 1;
  Table table = make_table(history.series, several);
  const std::string left_out = markdown ? "" : table.leave_out("--format markdown shows them");
  if (!markdown && !table.fits()) table.add_headings(table.take(0));
  Page page(markdown);
  page.table(table);
  for (const RowHistory& series : history.series)
    if (has_details(series))
      page.list(
          fmt::format("{} ({}, {})", series.id, machine(series, several), series.verdict.state),
          list_details(series));
  for (const SkippedSource& passed : history.passed_over) {
    page.blank();
    page.statement(fmt::format("not part of the history: {} ({})", passed.what, passed.reason));
  }
  Legend legend = make_legend(history, table);
  legend.add(left_out);
  for (const char* mark : {shared_mark, throttled_mark})
    if (marks.contains(mark)) legend.add(explain_mark(mark));
  page.blank();
  page.line(count_states(history));
  for (const std::string& line : legend.lines()) {
    page.gap();
    page.line(line);
  }
  add_decision(page, history);
  return page.text();
}

std::string render_history_csv(const History& history) {
  Table table{make_columns({"id", "hardware", "system", "time", "run", "value_s", "low_s", "high_s",
                            "launches", "software", "change_point"})};
  for (const RowHistory& series : history.series)
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const Point& point = series.points[i];
      const auto changes = std::ranges::count(series.verdict.changes, i, &LevelChange::index);
      table.lines.push_back(
          {{series.id, series.hardware, series.system, point.when, point.run, digits(point.value),
            digits(point.low), digits(point.high), std::to_string(point.launches),
            point.software_hash, std::to_string(changes)}});
    }
  return render_csv_table(table);
}

std::string render_history_junit(const History& history) {
  std::map<std::string, JunitSuite> suites;
  for (const RowHistory& series : history.series)
    add_testcase(suites.try_emplace(series.benchmark, series.benchmark).first->second, series);
  std::string all;
  for (const auto& [name, suite] : suites) suite.write(all);
  return escape_junit(all);
}

}  // namespace assay
