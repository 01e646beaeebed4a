#include "analysis/table/crossed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/legend.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

std::string label(const Series& series) {
  const json names = series.first().value("names", json::array());
  return names.empty() ? benchmark_and_problem(series.first()) : names.front().get<std::string>();
}

/// Where a series' first row stands in its file.
std::map<std::pair<std::size_t, std::string>, std::size_t> places(
    const std::vector<NamedResult>& results) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> found;
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::size_t place = 0;
    for (const json& row : results[r].result.at("rows"))
      found.emplace(std::pair{r, row.at("id").get<std::string>()}, place++);
  }
  return found;
}

std::vector<CrossedColumn> columns_of(const std::vector<Baseline>& baselines,
                                      const std::string& by) {
  std::vector<CrossedColumn> columns;
  std::set<std::string> known;
  for (const Baseline& baseline : baselines) {
    std::vector<std::string> values;
    for (const json& row : baseline.rows()) {
      for (const auto& [name, value] : row.at("parameters").items()) known.insert(name);
      const std::string value = text_of(row.at("parameters"), by);
      if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
    }
    sort_counts(values);
    for (const std::string& value : values)
      columns.push_back({baseline.system(), value, baseline.where(by, value)});
  }
  if (columns.empty())
    throw InputError(unknown_name("parameter for --by", by,
                                  std::vector<std::string>(known.begin(), known.end())));
  return columns;
}

/// The absolute values of a line's columns: lines of one group share them.
std::string absolutes_key(const CrossedLine& line) {
  std::string key = benchmark_and_problem(line.series->first());
  for (const json& match : line.matches)
    key += match.is_object() ? match.at("value").dump() + match.at("unit").dump() : "-";
  return key;
}

}  // namespace

Crossed cross(const std::vector<NamedResult>& results, const std::vector<Series>& all,
              const std::vector<Baseline>& baselines, const std::string& by) {
  Crossed crossed{columns_of(baselines, by), {}, 0};
  std::set<std::string> known;
  for (const CrossedColumn& column : crossed.columns)
    for (const json& row : column.rows.rows()) known.insert(benchmark_and_problem(row));
  for (const Series& series : all) {
    if (!known.contains(benchmark_and_problem(series.first()))) {
      ++crossed.left_out;
      continue;
    }
    CrossedLine line{&series, {}, {}};
    for (const CrossedColumn& column : crossed.columns) {
      Series same = series;
      json& parameters = same.rows.front()["parameters"];
      // As the column has it, with its type.
      parameters[by] = column.rows.rows().front().at("parameters").at(by);
      line.why.emplace_back();
      line.matches.push_back(beside(same, &column.rows, column.system, &line.why.back()));
    }
    crossed.lines.push_back(std::move(line));
  }
  // A source is followed in its own order; a run has its cases in random order.
  const auto order = places(results);
  const auto place = [&](const CrossedLine& line) {
    const Series& series = *line.series;
    return std::pair{series.result, series.published
                                        ? order.at({series.result, text_of(series.first(), "id")})
                                        : static_cast<std::size_t>(&series - all.data())};
  };
  std::stable_sort(crossed.lines.begin(), crossed.lines.end(),
                   [&](const CrossedLine& a, const CrossedLine& b) { return place(a) < place(b); });
  return crossed;
}

std::string crossed_table(const std::vector<NamedResult>& results, const Crossed& crossed,
                          const std::vector<Series>& all, const TableOptions& options) {
  std::vector<Series> kept;
  for (const CrossedLine& line : crossed.lines) kept.push_back(*line.series);
  // The parameter itself is a column, even where it does not differ.
  const std::vector<std::string> names = parameter_names(kept);
  const bool here = std::find(names.begin(), names.end(), options.by) != names.end();
  Axes axes = axes_of(kept, here ? options.by : "");
  choose(axes, kept, options.by, options.columns);
  axes.shown.insert(axes.shown.begin(), options.by);

  std::vector<std::string> systems;
  for (const CrossedColumn& column : crossed.columns)
    if (std::find(systems.begin(), systems.end(), column.system) == systems.end())
      systems.push_back(column.system);

  std::vector<Column> columns{{"problem"}, {"system"}};
  for (const std::string& axis : axes.shown) columns.push_back({axis});
  columns.push_back({"value", true});
  // What a precision's speed costs; of published rows nobody knows.
  const bool errors =
      options.by == "precision" &&
      std::any_of(kept.begin(), kept.end(), [](const Series& series) { return has_error(series); });
  if (errors) columns.push_back({"error", true});
  for (const CrossedColumn& column : crossed.columns)
    columns.push_back(
        {over(fmt::format("{} {} {}", column.system, options.by, column.value), "row"), true});

  Legend legend;
  std::vector<Line> lines;
  std::string group;
  for (const CrossedLine& line : crossed.lines) {
    const Series& series = *line.series;
    const std::string status = status_of(series);
    // A row without a number asks for no other's.
    if (const std::string key = absolutes_key(line); status == "ok" && key != group) {
      group = key;
      Line head{{label(series), join(systems, ", ")}, ""};
      head.cells.resize(3 + axes.shown.size() + (errors ? 1 : 0));
      for (std::size_t i = 0; i < line.matches.size(); ++i) {
        const json& match = line.matches[i];
        if (match.is_object()) {
          const bool published = match.at("published") == true;
          head.cells.push_back(human_quantity(quantity_of(match)) + published_mark(match));
          if (published) legend.cite(crossed.columns[i].system, text_of(match, "citation"));
        } else {
          head.cells.push_back("-");
          legend.add(fmt::format("{} at {} {}: {}.", label(series), options.by,
                                 crossed.columns[i].value, line.why[i]));
        }
      }
      lines.push_back(std::move(head));
    }
    Line cells{{label(series), text_of(results[series.result].result.at("system"), "name")}, ""};
    for (const std::string& axis : axes.shown) cells.cells.push_back(axis_text(series, axis));
    if (status != "ok") {
      cells.note = status + ": " + series.reason;
      lines.push_back(std::move(cells));
      continue;
    }
    cells.cells.push_back(marked_quantity(series));
    if (errors) cells.cells.push_back(error_cell(series));
    if (any_shared(series)) legend.add(shared_note);
    if (any_oversubscribed(series)) legend.add(oversubscribed_note);
    if (series.published)
      legend.cite(text_of(results[series.result].result.at("system"), "name"),
                  text_of(series.first(), "citation"));
    for (std::size_t i = 0; i < line.matches.size(); ++i) {
      const json& match = line.matches[i];
      const double faster = match.is_object() ? match.at("speedup").get<double>() : 0;
      if (!(faster > 0)) {
        cells.cells.push_back("-");
        continue;
      }
      legend.note(crossed.columns[i].system, text_of(match, "note"), false);
      std::string ratio = fmt::format("{:.2f}x{}", 1 / faster, ratio_mark(series, match));
      explain_not_given(crossed.columns[i].system, match, legend);
      if (match.contains("ratio_printed")) {
        ratio += printed_mark;
        legend.add(printed_note(series, match));
      }
      const Quantity mine = quantity_of(series), its = quantity_of(match);
      cells.cells.push_back(its.unit == mine.unit ? ratio_cell(ratio, options.absolutes, mine, its)
                                                  : ratio);
    }
    lines.push_back(std::move(cells));
  }
  // As sources print such tables: the gain of the newer system, which the columns are.
  legend.add(speedup_header("the column's system", "the row's") + ". " + no_verdict);
  if (errors) legend.add(error_note);
  if (crossed.left_out > 0)
    legend.add(fmt::format("{} cases are left out: no row of {} with {} has their problem.",
                           crossed.left_out, join(systems, ", "), options.by));
  if (ids_repeat(all)) legend.add(environments_note);
  const bool markdown = options.markdown;
  return table_title(results, axes.constants, markdown) +
         (markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) + "\n" +
         legend.text(markdown) + (markdown ? "\n" : "") + counts(kept) + "\n";
}

}  // namespace assay
