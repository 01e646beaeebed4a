#include "analysis/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/curve_table.hpp"
#include "analysis/table/legend.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/rate_cells.hpp"
#include "analysis/table/totals.hpp"
#include "analysis/text_table.hpp"
#include "core/base/units.hpp"
#include "core/base/text.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

constexpr std::size_t longest_note = 160;

}  // namespace

std::vector<std::pair<std::string, const Baseline*>> systems_of(
    const std::vector<Series>& all, const std::vector<Baseline>& baselines) {
  std::vector<std::pair<std::string, const Baseline*>> systems;
  for (const Baseline& baseline : baselines) systems.emplace_back(baseline.system(), &baseline);
  if (!systems.empty()) return systems;
  std::set<std::string> seen;
  for (const Series& series : all)
    for (const json& row : series.rows)
      if (row.contains("baseline") && row["baseline"].is_object()) {
        const std::string system = row["baseline"].at("system");
        if (seen.insert(system).second) systems.emplace_back(system, nullptr);
      }
  return systems;
}

std::vector<NamedResult> prepared(std::vector<NamedResult> results, const std::string& by) {
  if (by != "system") return results;
  std::map<std::string, int> systems;
  for (const NamedResult& one : results) ++systems[one.result.at("system").at("name")];
  for (NamedResult& one : results) {
    const std::string system = one.result.at("system").at("name");
    for (json& row : one.result.at("rows"))
      row["parameters"]["system"] = systems[system] > 1 ? one.name : system;
  }
  return results;
}

std::string render_table(const std::vector<NamedResult>& given,
                         const std::vector<Baseline>& baselines, const TableOptions& options) {
  const std::vector<NamedResult> results = prepared(given, options.by);
  const std::vector<Series> all = series_of(results);
  std::string first = nothing_common(all, baselines);
  if (!first.empty()) first = (options.markdown ? markdown_text(first) : first) + "\n";
  if (!options.by.empty() && !baselines.empty())
    return first + crossed_table(results, cross(results, all, baselines, options.by), all, options);
  const Axes axes = axes_of(all, options.by);
  const std::string totals = totals_table(results, all, axes_of(all, "").shown, options.markdown);
  if (!options.by.empty())
    return table_title(results, axes.constants, options.markdown) +
           pivot_table(results, all, axes, options) + "\n" + totals + counts(all) + "\n";
  const auto systems = systems_of(all, baselines);
  Legend legend;
  std::vector<Column> columns;
  const bool several_results = results.size() > 1;
  const bool several_environments = ids_repeat(all);
  const bool several_launches =
      std::any_of(all.begin(), all.end(), [](const Series& one) { return one.rows.size() > 1; });
  if (several_results) columns.push_back({"result"});
  if (several_benchmarks(all)) columns.push_back({"benchmark"});
  columns.push_back({"problem"});
  for (const std::string& axis : axes.shown) columns.push_back({axis});
  if (several_environments) columns.push_back({"environment", true});
  if (several_launches) columns.push_back({"launches", true});
  const bool ceilings = std::any_of(all.begin(), all.end(), has_ceiling);
  // Where all are ranges the head says it, else each range does.
  const bool ranges =
      std::any_of(all.begin(), all.end(), [](const Series& one) { return one.is_range; });
  const bool ranges_alone = ranges && std::all_of(all.begin(), all.end(), [](const Series& one) {
                              return one.is_range || !one.has_interval;
                            });
  for (const char* title : {"time", ranges_alone ? "range" : "95 % interval", "rate"})
    columns.push_back({title, true});
  if (ceilings) columns.push_back({"of ceiling", true});
  columns.push_back({"error", true});
  for (const auto& [system, baseline] : systems) {
    columns.push_back({system, true});
    columns.push_back({"ran"});
    columns.push_back({over("this", system), true});
  }

  std::vector<Line> lines;
  std::set<std::string> without;  // why there is no ratio, each reason once
  for (const Series& series : all) {
    Line line;
    if (several_results) line.cells.push_back(results[series.result].name);
    if (several_benchmarks(all)) line.cells.push_back(text_of(series.first(), "benchmark"));
    line.cells.push_back(series.problem());
    for (const std::string& axis : axes.shown)
      line.cells.push_back(axis == "algorithm" ? series.algorithm() : series.parameter(axis));
    if (several_environments)
      line.cells.push_back(std::to_string(series.first().at("environment").get<std::size_t>()));
    if (status_of(series) != "ok") {
      line.note = series.status + ": " + series.reason;
      if (!options.markdown && line.note.size() > longest_note) {
        // Not in the middle of a UTF-8 sequence.
        std::size_t end = longest_note;
        while (end > 0 && (static_cast<unsigned char>(line.note[end]) & 0xC0) == 0x80) --end;
        line.note = line.note.substr(0, end) + "...";
        legend.add("Long reasons are cut here; the result file has them whole.");
      }
      lines.push_back(std::move(line));
      continue;
    }
    const json& row = series.first();
    if (several_launches) line.cells.push_back(std::to_string(series.rows.size()));
    const bool timed = series.status == "ok";
    line.cells.push_back(timed ? marked_quantity(series) : "-");
    if (any_shared(series)) legend.add(shared_note);
    if (any_oversubscribed(series)) legend.add(oversubscribed_note);
    line.cells.push_back(
        series.has_interval
            ? fmt::format("{}{} .. {}", series.is_range && !ranges_alone ? "range " : "",
                          human_seconds(series.interval.low), human_seconds(series.interval.high))
            : "-");
    if (!series.has_interval && !series.published)
      legend.add(fmt::format(
          "No interval (-): fewer than {} effective samples (autocorrelation counted) have none.",
          least_for_interval));
    line.cells.push_back(rate_cell(series));
    if (ceilings) line.cells.push_back(ceiling_cell(series, legend));
    line.cells.push_back(error_cell(series));
    if (series.published)
      legend.cite(text_of(results[series.result].result.at("system"), "name"),
                  text_of(row, "citation"));
    for (const auto& [system, baseline] : systems) {
      std::string why;
      const json match = beside(series, baseline, system, &why);
      if (!match.is_object()) {
        line.cells.insert(line.cells.end(), {"-", "", "-"});
        if (!why.empty()) without.insert(why.starts_with(system) ? why : system + ": " + why);
        continue;
      }
      const bool published = match.at("published") == true;
      const Quantity mine = quantity_of(series), its = quantity_of(match);
      line.cells.push_back(human_quantity(its) + (published ? "*" : ""));
      line.cells.push_back(text_of(match, "algorithm"));
      std::string ratio = fmt::format("{:.3g}", match.at("speedup").get<double>());
      if (match.contains("ratio_printed")) {
        ratio += printed_mark;
        legend.add(printed_note(series, match));
      }
      line.cells.push_back(its.unit == mine.unit
                               ? ratio_cell(ratio, options.absolutes && its.unit == "s", its, mine)
                               : ratio);
      if (published) legend.cite(system, text_of(match, "citation"));
      legend.note(system, text_of(match, "note"), true);
    }
    lines.push_back(std::move(line));
  }
  if (ceilings) note_ceilings(results, all, legend);
  for (const std::string& why : without) legend.add("No ratio (-): " + why + ".");
  if (!systems.empty()) legend.add("ran: the other system's algorithm.");
  for (const auto& [system, baseline] : systems) legend.add(speedup_header("this", system) + ".");
  if (several_environments) legend.add(environments_note);
  const auto several = [&](bool published) {
    return std::any_of(all.begin(), all.end(), [&](const Series& one) {
      return one.rows.size() > 1 && one.published == published;
    });
  };
  if (several(true))
    legend.add("Of several published numbers of one case the best is shown, with its citation.");
  if (several(false))
    legend.add(
        "Several launches: median of the launch medians, and its interval" +
        (ranges
             ? fmt::format("; fewer than {} launches have no 95 % interval: their range is shown.",
                           least_for_interval)
             : "."));
  if (!all.empty())
    legend.add(
        std::string(
            "rate: nominal operations (2 per multiply-add of the direct algorithm) / time. ") +
        error_note);

  return first + table_title(results, axes.constants, options.markdown) +
         (options.markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) +
         "\n" + legend.text(options.markdown) + (options.markdown || !totals.empty() ? "\n" : "") +
         totals + counts(all) + "\n" + curve_table(results, all, options.markdown);
}

}  // namespace assay
