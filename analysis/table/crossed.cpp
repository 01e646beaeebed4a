#include "analysis/table/crossed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/table.hpp"
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

/// The table on its way to text.
class CrossedTable {
 public:
  CrossedTable(const std::vector<NamedResult>& results, const Crossed& crossed,
               const TableOptions& options)
      : results_(results), crossed_(crossed), options_(options) {
    for (const CrossedLine& line : crossed.lines) kept_.push_back(*line.series);
    // The parameter itself is a column, even where it does not differ.
    const std::vector<std::string> names = parameter_names(kept_);
    const bool here = std::find(names.begin(), names.end(), options.by) != names.end();
    axes_ = axes_of(kept_, here ? options.by : "");
    choose(axes_, kept_, options.by, options.columns);
    axes_.shown.insert(axes_.shown.begin(), options.by);
    // What a precision's speed costs; of published rows nobody knows.
    errors_ = options.by == "precision" && std::any_of(kept_.begin(), kept_.end(), has_error);
    for (const CrossedColumn& column : crossed.columns)
      if (std::find(systems_.begin(), systems_.end(), column.system) == systems_.end())
        systems_.push_back(column.system);
  }

  /// `ids_repeated`: among all rows, with those that are left out.
  void add_to(Page& page, bool ids_repeated) {
    const Table table{heads(), lines_of()};
    // As sources print such tables: the gain of the newer system, which the columns are.
    legend_.add(speedup_header("the column's system", "the row's") + ". " + no_verdict);
    if (errors_) legend_.add(error_note);
    if (crossed_.left_out > 0)
      legend_.add(fmt::format("{} cases are left out: no row of {} with {} has their problem.",
                              crossed_.left_out, join(systems_, ", "), options_.by));
    if (ids_repeated) legend_.add(environments_note);
    add_title(page, results_, axes_.constants);
    page.table(table, legend_.lines());
    page.gap();
    page.statement(counts(kept_));
  }

 private:
  std::vector<Column> heads() const {
    std::vector<Column> columns{{"problem"}, {"system"}};
    for (const std::string& axis : axes_.shown) columns.push_back({axis});
    columns.push_back({"value", true});
    if (errors_) columns.push_back({"error", true});
    for (const CrossedColumn& column : crossed_.columns)
      columns.push_back(
          {over(fmt::format("{} {} {}", column.system, options_.by, column.value), "row"), true});
    return columns;
  }

  std::vector<Line> lines_of() {
    std::vector<Line> lines;
    std::string group;
    for (const CrossedLine& line : crossed_.lines) {
      // A row without a number asks for no other's.
      if (const std::string key = absolutes_key(line);
          status_of(*line.series) == "ok" && key != group) {
        group = key;
        lines.push_back(absolutes_of(line));
      }
      lines.push_back(line_of(line));
    }
    return lines;
  }

  /// The columns' absolute values, above the lines that share them.
  Line absolutes_of(const CrossedLine& line) {
    Line head{{label(*line.series), join(systems_, ", ")}};
    head.cells.resize(3 + axes_.shown.size() + (errors_ ? 1 : 0));
    for (std::size_t i = 0; i < line.matches.size(); ++i) {
      const json& match = line.matches[i];
      const CrossedColumn& column = crossed_.columns[i];
      if (!match.is_object()) {
        head.cells.push_back("-");
        legend_.add(fmt::format("{} at {} {}: {}.", label(*line.series), options_.by, column.value,
                                line.why[i]));
        continue;
      }
      head.cells.push_back(human_quantity(quantity_of(match)) + published_mark(match));
      if (match.at("published") == true) legend_.cite(column.system, text_of(match, "citation"));
    }
    return head;
  }

  /// A row's value, or the reason why it has none, and each column's speedup over it.
  Line line_of(const CrossedLine& line) {
    const Series& series = *line.series;
    const std::string system = text_of(results_[series.result].result.at("system"), "name");
    Line made{{label(series), system}};
    for (const std::string& axis : axes_.shown) made.cells.push_back(axis_text(series, axis));
    if (const std::string status = status_of(series); status != "ok") {
      made.note = status + ": " + series.reason;
      return made;
    }
    made.cells.push_back(marked_quantity(series));
    if (errors_) made.cells.push_back(error_cell(series));
    legend_.add(note_of(mark_of(series)));
    if (series.published) legend_.cite(system, text_of(series.first(), "citation"));
    for (std::size_t i = 0; i < line.matches.size(); ++i)
      made.cells.push_back(speedup_of(crossed_.columns[i].system, line.matches[i], series));
    return made;
  }

  std::string speedup_of(const std::string& system, const json& match, const Series& series) {
    const double faster = match.is_object() ? match.at("speedup").get<double>() : 0;
    if (!(faster > 0)) return "-";
    legend_.note(system, text_of(match, "note"), false);
    std::string ratio = fmt::format("{:.2f}x{}", 1 / faster, ratio_mark(series, match));
    explain_not_given(system, match, legend_);
    if (match.contains("ratio_printed")) {
      ratio += printed_mark;
      legend_.add(printed_note(series, match));
    }
    const Quantity mine = quantity_of(series), its = quantity_of(match);
    return its.unit == mine.unit ? ratio_cell(ratio, options_.absolutes, mine, its) : ratio;
  }

  const std::vector<NamedResult>& results_;
  const Crossed& crossed_;
  const TableOptions& options_;
  std::vector<Series> kept_;
  Axes axes_;
  bool errors_ = false;               ///< whether there is a column for them
  std::vector<std::string> systems_;  ///< of the columns, each once
  Legend legend_;
};

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
      json& parameters = same.rows.front().own()["parameters"];
      // As the column has it, with its type.
      const json& theirs = column.rows.rows().front();
      parameters[by] = theirs.at("parameters").at(by);
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

void add_crossed(Page& page, const std::vector<NamedResult>& results, const Crossed& crossed,
                 const std::vector<Series>& all, const TableOptions& options) {
  CrossedTable(results, crossed, options).add_to(page, ids_repeat(all));
}

}  // namespace assay
