#include "analysis/table/crossed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

std::string label(const Series& series) {
  const Row& row = series.first();
  return row.names.empty() ? benchmark_and_problem(row) : row.names.front();
}

std::vector<CrossedColumn> make_columns(const std::vector<Baseline>& baselines,
                                        const std::string& by) {
  std::vector<CrossedColumn> columns;
  std::set<std::string> known;
  for (const Baseline& baseline : baselines) {
    Texts values;
    for (const Row& row : baseline.rows()) {
      for (const auto& [name, value] : row.parameters) known.insert(name);
      const std::string value = row.parameter(by);
      if (!value.empty() && std::ranges::find(values, value) == values.end())
        values.push_back(value);
    }
    sort_counts(values);
    for (const std::string& value : values)
      columns.push_back({baseline.system(), value, baseline.where(by, value)});
  }
  if (columns.empty())
    throw InputError(
        explain_unknown_name("parameter for --by", by, Texts(known.begin(), known.end())));
  return columns;
}

/// A key for the absolute values of a line's columns; lines with the same key form a group and
/// share them.
std::string absolutes_key(const CrossedLine& line) {
  std::string key = benchmark_and_problem(line.series->first());
  for (const Match& match : line.matches)
    key += match ? fmt::format("{} {}", match->value, match->unit) : "-";
  return key;
}

/// The parts of the table that its lines use.
struct CrossedTable {
  const Results& results;
  const CrossTable& crossed;
  const TableOptions& options;
  Axes axes{};
  bool errors = false;  ///< true if there is a column for them
  Texts systems{};      ///< of the columns, each once
  Legend legend{};

  std::vector<Column> heads() const {
    std::vector<Column> columns{{"problem"}, {"system"}};
    for (const std::string& axis : axes.shown) columns.push_back({axis});
    columns.push_back({"value", true});
    if (errors) columns.push_back({"error", true});
    for (const CrossedColumn& column : crossed.columns)
      columns.push_back(
          {over(fmt::format("{} {} {}", column.system, options.by, column.value), "row"), true, "",
           static_cast<int>(columns.size())});
    return columns;
  }

  /// The absolute values of the columns, above the lines that share them.
  Line absolutes(const CrossedLine& line) {
    Line head{{label(*line.series), join(systems, ", ")}};
    head.cells.resize(3 + axes.shown.size() + (errors ? 1 : 0));
    for (std::size_t i = 0; i < line.matches.size(); ++i) {
      const Match& match = line.matches[i];
      const CrossedColumn& column = crossed.columns[i];
      if (!match) {
        head.add("-");
        legend.add(fmt::format("{} at {} {}: {}.", label(*line.series), options.by, column.value,
                               line.why[i]));
        continue;
      }
      head.add({format_quantity(make_quantity(*match)) + mark_published(*match), match->value});
      if (match->published) legend.cite(column.system, match->citation);
    }
    return head;
  }

  /// A row's value, or the reason why it has none, and the speedup of each column over it.
  Line speedups(const CrossedLine& of_row) {
    const Series& series = *of_row.series;
    const std::string& own = results[series.result].system();
    Line line{{label(series), own}};
    for (const std::string& axis : axes.shown) line.add(format_axis(series, axis));
    if (!has_number(series)) {
      line.note = series.status + ": " + series.reason;
      return line;
    }
    line.add(format_value_cell(series));
    if (errors) line.add(format_error_cell(series));
    legend.add(explain_mark(choose_mark(series)));
    if (series.published) legend.cite(own, series.first().citation);
    for (std::size_t i = 0; i < of_row.matches.size(); ++i) {
      const Match& match = of_row.matches[i];
      const std::string& system = crossed.columns[i].system;
      if (!match || !(match->speedup > 0)) {
        line.add("-");
        continue;
      }
      legend.note(system, match->note, false);
      const std::string ratio = fmt::format("{:.2f}x{}", 1 / match->speedup,
                                            format_ratio_marks(series, *match, system, legend));
      const Quantity mine = make_quantity(series), its = make_quantity(*match);
      line.add({format_ratio_cell(ratio, options.absolutes && its.unit == mine.unit, mine, its),
                1 / match->speedup});
    }
    return line;
  }
};

}  // namespace

CrossTable cross(const Results& results, const SeriesList& all,
                 const std::vector<Baseline>& baselines, const std::string& by) {
  CrossTable crossed{make_columns(baselines, by)};
  std::set<std::string> known;
  for (const CrossedColumn& column : crossed.columns)
    for (const Row& row : column.rows.rows()) known.insert(benchmark_and_problem(row));
  for (const Series& series : all) {
    if (!known.contains(benchmark_and_problem(series.first()))) {
      ++crossed.left_out;
      continue;
    }
    CrossedLine& line = crossed.lines.emplace_back(CrossedLine{&series});
    for (const CrossedColumn& column : crossed.columns) {
      Series same = series;
      // The value with the type that the column has.
      same.rows.front().own().parameters[by] = column.rows.rows().front()->parameters.at(by);
      line.matches.push_back(beside(same, {column.system, &column.rows}, &line.why.emplace_back()));
    }
  }
  // Published rows keep the order of their source; the cases of a run are in random order.
  std::map<std::pair<std::size_t, std::string>, std::size_t> places;
  for (std::size_t result = 0; result < results.size(); ++result)
    for (const Row& row : results[result].rows())
      places.try_emplace({result, row.id}, places.size());
  std::ranges::stable_sort(crossed.lines, {}, [&](const CrossedLine& line) {
    const Series& series = *line.series;
    return std::pair{series.result, series.published
                                        ? places.at({series.result, series.first().id})
                                        : static_cast<std::size_t>(&series - all.data())};
  });
  return crossed;
}

void add_crossed(Page& page, const Results& results, const CrossTable& crossed,
                 const SeriesList& all, const TableOptions& options) {
  CrossedTable table{results, crossed, options};
  SeriesList kept;
  for (const CrossedLine& line : crossed.lines) kept.push_back(*line.series);
  // The parameter itself is a column, even if it does not differ.
  const Texts names = list_parameter_names(kept);
  const bool here = std::ranges::find(names, options.by) != names.end();
  table.axes = find_axes(kept, here ? options.by : "");
  choose(table.axes, kept, options.by, options.columns);
  table.axes.shown.insert(table.axes.shown.begin(), options.by);
  // The error is the cost of a faster precision; for published rows it is unknown.
  table.errors = options.by == "precision" && std::ranges::any_of(kept, [](auto& series) {
                   return largest_error(series).has_value();
                 });
  for (const CrossedColumn& column : crossed.columns)
    if (std::ranges::find(table.systems, column.system) == table.systems.end())
      table.systems.push_back(column.system);
  Table shown{table.heads()};
  std::string group;
  for (const CrossedLine& line : crossed.lines) {
    // A row without a number needs no numbers of other systems.
    if (const std::string key = absolutes_key(line); has_number(*line.series) && key != group) {
      group = key;
      shown.lines.push_back(table.absolutes(line));
    }
    shown.lines.push_back(table.speedups(line));
  }
  Legend& legend = table.legend;
  // Sources print such tables in this direction: as the gain of the newer system, whose values are
  // the columns.
  legend.add(format_speedup_header("the column's system", "the row's") + ". " + no_verdict);
  if (table.errors) legend.add(error_note);
  if (crossed.left_out > 0)
    legend.add(fmt::format("{} {} left out: no row of {} with {} has {} problem.",
                           format_count(crossed.left_out, "case"),
                           by_count(crossed.left_out, "is", "are"), join(table.systems, ", "),
                           options.by, by_count(crossed.left_out, "its", "their")));
  if (ids_repeat(all)) legend.add(environments_note);
  add_title(page, results, all, table.axes.lines());
  page.table(shown, legend.lines());
  page.gap();
  page.remark(counts(kept));
}

}  // namespace assay
