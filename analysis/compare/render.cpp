#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/compare/comparison.hpp"
#include "analysis/page.hpp"
#include "analysis/ratio.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay {

namespace {

std::string plain(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string percent(const std::optional<double>& part) {
  return part ? format_percentage(*part) : "-";
}

std::string interval(const std::optional<Interval>& pair) {
  return pair ? fmt::format("{:.4f} to {:.4f}", pair->low, pair->high) : "-";
}

std::string choose_mark(const SideTimes& side) {
  return assay::choose_mark(side.shared, side.throttled);
}
/// The mark of a row's ratio, and of the mean over all rows.
std::string choose_mark(const ComparedRow& row) {
  return worse_mark(choose_mark(row.base), choose_mark(row.updated));
}
std::string choose_mark(const std::vector<ComparedRow>& rows) {
  std::string mark;
  for (const ComparedRow& row : rows) mark = worse_mark(mark, choose_mark(row));
  return mark;
}

constexpr const char* ratio_note =
    "new over base: the median of the ratios of each launch of base to each launch of new. It is "
    "not the ratio of the two medians, which slow launches shift more.";

std::string time_cell(const SideTimes& side, Legend& legend) {
  const std::string mark = choose_mark(side);
  legend.add("base, new: median of the launches; launches: their number in base / new.");
  legend.add(explain_mark(mark));
  return format_seconds(side.median) + mark;
}

std::string format_speedup_cell(const ComparedRow& row, Legend& legend) {
  if (row.base.launches > 1 && row.updated.launches > 1) legend.add(ratio_note);
  return fmt::format("{:.4f}{}", row.speedup.value_or(0), choose_mark(row));
}

std::string format_launches_cell(const ComparedRow& row, Legend&) {
  const auto count = [](const SideTimes& side) {
    return side.launches == 0 ? "-" : std::to_string(side.launches);  // a published number has none
  };
  return fmt::format("{} / {}", count(row.base), count(row.updated));
}

std::string format_verdict_cell(const ComparedRow& row, Legend& legend) {
  if (!row.verdict) return "-";
  const std::string& verdict = compare_verdicts[*row.verdict];
  if (row.stage == LaunchStage::screen) return verdict;
  legend.add("(fresh): decided by the fresh launches alone.");
  return verdict + " (fresh)";
}

std::string format_p_cell(const ComparedRow& row, Legend& legend) {
  legend.add("p: probability of such a difference without a change.");
  return row.times.p ? fmt::format("{:.2g}", *row.times.p) : "-";
}

std::string format_detection_cell(const ComparedRow& row, Legend& legend) {
  if (row.stage == LaunchStage::screen) return "-";
  legend.add("detected: whether the fresh launches show any change, tolerated or not.");
  return row.detected ? "yes" : "no";
}

std::string format_variation_cell(const ComparedRow& row, Legend& legend) {
  legend.add("variation: standard deviation between the launches of base / new.");
  return percent(row.base.variation) + " / " + percent(row.updated.variation);
}

/// The columns of the rows: the sides, their ratio and the verdict. All other columns are spare on
/// a narrow terminal.
std::vector<Field> row_fields(const std::vector<ComparedRow>& rows, double power) {
  std::vector<Field> fields;
  const auto add = [&](const std::string& title, const auto& cell, int spare = 0,
                       bool right = true) {
    fields.push_back({{title, right, title, spare, true},
                      true,
                      [&rows, cell](const Series& series, Legend& legend) -> Cell {
                        return cell(rows[series.result], legend);
                      }});
  };
  add("base", [](auto& row, auto& legend) { return time_cell(row.base, legend); });
  add("new", [](auto& row, auto& legend) { return time_cell(row.updated, legend); });
  add(over("new", "base"), format_speedup_cell);
  add(
      "95 % interval", [](auto& row, auto&) { return interval(row.speedup_interval); }, 1);
  add("verdict", format_verdict_cell, 0, false);
  add("p", format_p_cell, 2);
  add("detected", format_detection_cell, 3, false);
  add("launches", format_launches_cell);
  add("tolerance", [](auto& row, auto&) { return percent(row.tolerance); });
  add(
      "detectable",
      [power](const ComparedRow& row, Legend& legend) {
        legend.add(
            fmt::format("detectable: the change that these launches detect with a probability of "
                        "{:.0f} %.",
                        100 * power));
        return percent(row.minimum_detectable);
      },
      4);
  add("variation", format_variation_cell, 5);
  return fields;
}

/// The description of a row for a table, from either side, without its numbers. A parameter that
/// differs between the sides is "base / new".
Series row_of_sides(const std::string& id, const Side& base, const Side& updated) {
  const auto describe = [&](const SideRow* side) {
    const Row& row = side->row();
    Row copy{.id = id, .names = row.names, .benchmark = row.benchmark, .problem = row.problem};
    copy.parameters = row.parameters;
    copy.execution = row.execution;
    Series series;
    series.status = "ok";
    series.rows.emplace_back(std::move(copy));
    return series;
  };
  const SideRow *was = base.find(id), *is = updated.find(id);
  Series series = describe(is == nullptr ? was : is);
  if (was == nullptr || is == nullptr) return series;
  const Series old = describe(was);
  std::map<std::string, nlohmann::json> parameters;
  for (const std::string& name : list_parameter_names({old, series})) {
    const std::string before = format_axis(old, name), now = format_axis(series, name);
    parameters[name] = before == now ? now
                                     : fmt::format("{} / {}", before.empty() ? "-" : before,
                                                   now.empty() ? "-" : now);
  }
  Row& row = series.rows.front().own();
  row.parameters = std::move(parameters);
  row.execution.reset();  // it would show the algorithm of new alone
  if (row.names.empty()) row.names = was->row().names;
  return series;
}

/// The text of a field, if all cells have the same one and a line above the table shows it instead.
std::optional<std::string> format_common(const Field& field, const SeriesList& rows) {
  if (field.title != "launches" && field.title != "tolerance") return std::nullopt;
  Legend unused;
  const std::string first = field.cell(rows.front(), unused).text;
  for (const Series& series : rows)
    if (field.cell(series, unused).text != first) return std::nullopt;
  return first;
}

/// An entry of a list: the id of its row in the sides, and its footnotes.
struct EntryLine {
  std::string id;
  std::vector<std::string> footnotes{};
};

class Rendering {
 public:
  Rendering(const Comparison& comparison, const Side& base, const Side& updated, bool markdown,
            bool latex)
      : comparison_(comparison), base_(base), updated_(updated), page_(markdown, latex) {}

  std::string text() {
    stamp();
    sides();
    line(fmt::format("Meant to differ: {}. S{}.", comparison_.vary,
                     format_speedup_header("new", "base").substr(1)));
    for (const std::string& note : comparison_.notes) line("Note: " + note + ".");
    mismatches();
    rows();
    list("Only in base:", comparison_.only_base, {{"status", &Entry::status}});
    list("Only in new:", comparison_.only_new, {{"status", &Entry::status}});
    list("Not compared:", comparison_.not_compared,
         {{"base", &Entry::base_status}, {"new", &Entry::new_status}});
    list("Lost (result only in base):", comparison_.lost, {});
    if (!comparison_.refused) ending();
    stamp();
    return page_.text();
  }

 private:
  void line(const std::string& text) {
    page_.line(text);
    page_.gap();
  }

  void table(const Table& table) {
    page_.table(table);
    page_.blank();
  }

  /// Printed at the beginning and at the end, so that it is visible in every part of a long output.
  void stamp() {
    if (comparison_.refused)
      line("REFUSED: fields differ that were not meant to. Nothing was compared.");
    else if (comparison_.allow_mismatch)
      line(fmt::format(
          "MISMATCH ALLOWED (--allow-mismatch): {} {} not meant to. The differences may have other "
          "causes than the one that was meant.",
          format_count(comparison_.mismatches.size(), "field"),
          by_count(comparison_.mismatches.size(), "differs that was", "differ that were")));
  }

  void sides() {
    Table sides{{{""}, {"base"}, {"new"}}};
    sides.lines.push_back({{"results", comparison_.base.name, comparison_.updated.name}});
    sides.lines.push_back({{"system", comparison_.base.system, comparison_.updated.system}});
    if (comparison_.fresh_base)
      sides.lines.push_back(
          {{"fresh launches", comparison_.fresh_base->name, comparison_.fresh_new->name}});
    table(sides);
  }

  void mismatches() {
    if (comparison_.mismatches.empty()) return;
    Table fields{{{"differs"}, {"base"}, {"new"}, {"rows", true}}};
    for (const Mismatch& mismatch : comparison_.mismatches)
      fields.lines.push_back({{mismatch.field, plain(mismatch.base), plain(mismatch.updated),
                               mismatch.rows == 0 ? "all" : std::to_string(mismatch.rows)}});
    table(fields);
  }

  void rows() {
    if (comparison_.rows.empty()) return;
    std::vector<ComparedRow> sorted = comparison_.rows;
    const auto rank = [](const ComparedRow& row) {
      static const std::vector<std::optional<Verdict>> order = {
          Verdict::slower, Verdict::faster, Verdict::inconclusive, Verdict::same};
      return std::ranges::find(order, row.verdict) - order.begin();
    };
    std::ranges::stable_sort(sorted, {}, rank);
    std::vector<EntryLine> lines;
    for (const ComparedRow& row : sorted) {
      std::vector<std::string>& notes = lines.emplace_back(EntryLine{row.id}).footnotes;
      if (!row.reason.empty()) notes.push_back(row.reason);
      notes.insert(notes.end(), row.notes.begin(), row.notes.end());
    }
    entries(lines, row_fields(sorted, comparison_.settings.power));
  }

  void list(const std::string& heading, const std::vector<Entry>& list,
            const std::vector<std::pair<const char*, std::string Entry::*>>& columns) {
    if (list.empty()) return;
    std::vector<EntryLine> lines;
    for (const Entry& entry : list) {
      lines.push_back({entry.id});
      if (!entry.reason.empty()) lines.back().footnotes = {entry.reason};
    }
    std::vector<Field> fields;
    for (const auto& [title, text] : columns)
      fields.push_back({{title, false, title, 0, true}, true, [&list, text](auto& series, auto&) {
                          return list[series.result].*text;
                        }});
    line(heading);
    entries(lines, fields);
  }

  /// Prints entries with their benchmark, problem and the parameters that differ between them, then
  /// the fields, then the numbers of footnotes. A cell finds its entry by Series::result, the index
  /// of the entry.
  void entries(const std::vector<EntryLine>& lines, std::vector<Field> fields) {
    const Results no_results;
    FieldTable table;
    table.to_see_all = "--format markdown shows them";
    std::vector<std::string> notes;
    for (const EntryLine& entry : lines) {
      std::vector<std::string> marks;
      for (const std::string& footnote : entry.footnotes)
        marks.push_back(table.legend.footnote(footnote));
      table.rows.push_back(row_of_sides(entry.id, base_, updated_));
      table.rows.back().result = notes.size();
      notes.push_back(join(marks, " "));
    }
    std::erase_if(fields, [&](const Field& field) {
      const auto text = format_common(field, table.rows);
      if (text) table.constants.push_back(field.title + " " + *text);
      return text.has_value();
    });
    fields.push_back({{"note", false, "note", 0, true}, true, [&](auto& series, auto&) {
                        return notes[series.result];
                      }});
    table.fields = [&](const SeriesList& rows, const Axes& axes) {
      std::vector<Field> columns = fields_of_case(no_results, rows, axes);
      columns.insert(columns.end(), fields.begin(), fields.end());
      return columns;
    };
    add_field_table(page_, no_results, table.rows, table,
                    {.markdown = page_.markdown(), .latex = page_.latex()});
    page_.blank();
  }

  void ending() {
    if (const std::optional<MeanSpeedup>& mean = comparison_.geometric_mean)
      line(fmt::format(
          "Geometric mean of new over base: {:.4f}{}, {} ({} of {}, by their first launches).",
          mean->speedup, choose_mark(comparison_.rows),
          mean->interval ? "95 % interval " + interval(mean->interval)
                         : "no interval: " + mean->interval_reason,
          mean->rows, format_count(mean->base_rows, "row")));
    else
      line(fmt::format("Geometric mean: none ({}).", comparison_.geometric_mean_reason));
    const auto count = [&](const char* name) { return comparison_.summary.at(name); };
    line(fmt::format(
        "{} slower, {} faster, {} same, {} inconclusive ({} {} fresh launches), {} without "
        "verdict; "
        "{} only in base, {} only in new, {} not compared, {} lost.",
        count("slower"), count("faster"), count("same"), count("inconclusive"),
        count("needs_confirmation"), by_count(count("needs_confirmation"), "needs", "need"),
        count("without_verdict"), comparison_.only_base.size(), comparison_.only_new.size(),
        comparison_.not_compared.size(), comparison_.lost.size()));
    if (count("needs_confirmation") != 0) decision();
    if (!comparison_.rows.empty()) rule(comparison_.settings);
  }

  /// True if --confirm can start the launches of a side: it repeats a run of `assay run`.
  static bool can_repeat(const Side& side) {
    const auto& settings = side.results().front().run().settings;
    return side.results().size() == 1 && settings && !settings->suite_file.empty();
  }

  /// The command that decides, on a line that is never broken.
  void decision() {
    if (comparison_.fresh_base) {
      line(
          "To decide, launch the rows that the fresh results do not have, too, and give results "
          "with all flagged rows.");
    } else if (can_repeat(base_) && can_repeat(updated_)) {
      line(
          "To decide by fresh launches (with --base-build or --new-build for rows of another "
          "build):");
      page_.remark("  " + comparison_.command + " --confirm DIR");
    } else {
      const bool one_run = base_.results().front().run().id == updated_.results().front().run().id;
      line(fmt::format("To decide, repeat {} with --launches {} --out FILE; then:",
                       one_run ? "the measurement" : "both measurements", fresh_launches));
      page_.remark(fmt::format("  {} --fresh-base {} --fresh-new {}", comparison_.command,
                               one_run ? "FILE" : "FILE_OF_BASE",
                               one_run ? "FILE" : "FILE_OF_NEW"));
    }
    page_.gap();
  }

  /// States the rule by which the rows were judged.
  void rule(const Comparison::Settings& settings) {
    std::string text = fmt::format(
        "The first launches flag a row at p <= {:.2g}, or if its speedup is outside of the "
        "tolerance; {} {} flagged.",
        settings.screen_p, settings.flagged, by_count(settings.flagged, "is", "are"));
    if (settings.confirmed_p)
      text += fmt::format(
          " Fresh launches detect a change at p <= {:.2g}, so the probability of any false alarm "
          "in the suite is at most {:.2g}.",
          *settings.confirmed_p, settings.false_alarm_rate);
    line(text);
  }

  const Comparison& comparison_;
  const Side &base_, &updated_;
  Page page_;
};

}  // namespace

std::string render_comparison(const Comparison& comparison, const Side& base, const Side& updated,
                              bool markdown, bool latex) {
  return Rendering(comparison, base, updated, markdown, latex).text();
}

std::string render_comparison_csv(const Comparison& comparison) {
  const nlohmann::json document = comparison;
  std::vector<nlohmann::json> records;
  for (const char* list : {"rows", "only_base", "only_new", "not_compared", "lost"})
    for (nlohmann::json record : document[list]) {
      record["list"] = list;
      for (const std::string side : {"base", "new"})
        if (const nlohmann::json times = record[side]; times.is_object())
          record.update({{side, times["median"]}, {side + "_launches", times["launches"]}});
      if (const nlohmann::json ends = record["speedup_interval"]; ends.is_array())
        record.update({{"low", ends[0]}, {"high", ends[1]}});
      records.push_back(std::move(record));
    }
  return make_csv({{"list", "id", "verdict", "unit", "base", "base_launches", "new", "new_launches",
                    "speedup", "low", "high", "p", "minimum_detectable", "stage", "status",
                    "base_status", "new_status", "reason"},
                   records});
}

}  // namespace assay
