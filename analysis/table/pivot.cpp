#include "analysis/table/pivot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/benchmark_tables.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/table.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// "Volta / Pascal" where the series of a line differ in it all the same.
std::string shared_parameter(const PivotLine& line, const std::string& name) {
  std::vector<std::string> values;
  for (const auto& [value, series] : line.series)
    if (const std::string text = axis_text(*series, name);
        !text.empty() && std::find(values.begin(), values.end(), text) == values.end())
      values.push_back(text);
  return join(values, " / ");
}

/// Whether some line has a time at this value, and at another that can be set against it.
bool is_base(const std::vector<PivotLine>& lines, const std::string& value) {
  const auto measured = [](const auto& at) { return status_of(*at.second) == "ok"; };
  return std::any_of(lines.begin(), lines.end(), [&](const PivotLine& line) {
    const auto at = line.series.find(value);
    return at != line.series.end() && measured(*at) &&
           std::ranges::count_if(line.series, measured) > 1;
  });
}

}  // namespace

void sort_counts(std::vector<std::string>& values) {
  const bool counts = std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return !value.empty() && value.size() < 18 &&
           value.find_first_not_of("0123456789") == std::string::npos;
  });
  if (!counts) return;
  std::sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
    return std::stoll(a) < std::stoll(b);
  });
}

Pivot pivot_of(const std::vector<NamedResult>& results, const std::vector<Series>& all,
               const std::string& by) {
  Pivot pivot;
  std::map<std::string, std::size_t> lines;  // what stays → its line
  for (const Series& series : all) {
    json rest = series.first().at("parameters");
    const std::string value = series.parameter(by);
    rest.erase(by);
    // Two systems are in two results and environments, and of two architectures; how their threads
    // make up an SMT level is theirs.
    const bool systems = by == "system";
    if (systems) rest.erase("architecture");
    if (systems && rest.contains("smt"))
      for (const char* layout : {"threads", "ranks"}) rest.erase(layout);
    std::string key = fmt::format("{} {} {} {} {}", systems ? 0 : series.result,
                                  systems ? "" : environment_but(results, series, by),
                                  text_of(series.first(), "benchmark"),
                                  text_of(series.first().at("problem"), "descriptor"), rest.dump());
    // The same case once more in another environment of one result: never in the same line.
    while (lines.contains(key) && pivot.lines[lines.at(key)].series.contains(value)) key += '+';
    if (lines.emplace(key, pivot.lines.size()).second) pivot.lines.push_back({&series, {}});
    pivot.lines[lines.at(key)].series.emplace(value, &series);
    if (std::find(pivot.values.begin(), pivot.values.end(), value) == pivot.values.end())
      pivot.values.push_back(value);
  }
  std::vector<std::string> order;
  // The first system given is the one that the others are set against.
  if (by == "system") {
    std::vector<std::pair<std::size_t, std::string>> given;
    for (const Series& series : all) given.emplace_back(series.result, series.parameter(by));
    std::sort(given.begin(), given.end());
    for (const auto& [result, system] : given)
      if (order.empty() || order.back() != system) order.push_back(system);
  }
  std::stable_sort(
      pivot.values.begin(), pivot.values.end(), [&](const std::string& a, const std::string& b) {
        return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b);
      });
  sort_counts(pivot.values);
  // No value has a ratio to a backend that this machine cannot use, or to the `--blas auto` of
  // backends that have no other.
  if (by != "system")
    std::stable_partition(pivot.values.begin(), pivot.values.end(),
                          [&](const std::string& value) { return is_base(pivot.lines, value); });
  return pivot;
}

json beside_first(const PivotLine& line, const Pivot& pivot, const Series& series,
                  const std::string& by, std::string* why) {
  const auto base = line.series.find(pivot.values.front());
  if (base == line.series.end() || base->second == &series || status_of(*base->second) != "ok")
    return nullptr;
  // The one parameter that is meant to differ does not stand in the way; everything else does.
  Series same = series;
  same.rows.front().own()["parameters"][by] =
      base->second->first().at("parameters").value(by, json());
  const std::string system = by == "system" ? base->first : by + " " + base->first;
  const Baseline first = Baseline::of_launches(system, *base->second);
  return beside(same, &first, system, why);
}

namespace {

std::string named(const std::string& value) { return value.empty() ? "(none)" : value; }

/// The lines of some series. What explains them goes into `legend`.
class PivotTable {
 public:
  /// `told`: parameters that are told elsewhere. `all` must outlive the table.
  PivotTable(const std::vector<NamedResult>& results, const std::vector<Series>& all,
             const TableOptions& options, Legend& legend, const std::set<std::string>& told = {})
      : results_(results),
        all_(all),
        options_(options),
        pivot_(pivot_of(results, all, options.by)),
        legend_(legend),
        benchmarks_(several_benchmarks(all)) {
    for (const PivotLine& line : pivot_.lines) {
      const bool fold = options_.columns != all_columns &&
                        std::all_of(line.series.begin(), line.series.end(),
                                    [](const auto& value) { return may_fold(*value.second); });
      if (!fold) kept_.push_back(&line);
      for (const auto& [value, series] : line.series) (fold ? folded_ : shown_).push_back(*series);
    }
    std::erase_if(pivot_.values, [&](const std::string& value) {
      return std::none_of(kept_.begin(), kept_.end(),
                          [&](const PivotLine* line) { return line->series.contains(value); });
    });
    const std::vector<Series>& rows = shown_.empty() ? all_ : shown_;
    const std::vector<std::string> names = parameter_names(rows);
    const bool here = std::find(names.begin(), names.end(), options_.by) != names.end();
    axes_ = axes_of(rows, here ? options_.by : "", told);
    choose(axes_, all_, options_.by, options_.columns);
  }
  PivotTable(const PivotTable&) = delete;
  PivotTable& operator=(const PivotTable&) = delete;

  const std::vector<Series>& shown() const { return shown_; }
  const std::vector<Series>& folded() const { return folded_; }
  const std::vector<std::string>& constants() const { return axes_.constants; }
  /// What ratios are over; "" without ratios.
  std::string base() const { return pivot_.values.size() > 1 ? named(pivot_.values.front()) : ""; }

  bool too_wide() { return !Table{heads(false), lines()}.fits(); }

  /// The table, on a terminal as narrow as it must be. `with_folded`: also the line of the rows
  /// that are folded.
  Table body(bool with_folded) {
    Table table{heads(false), lines()};
    const std::size_t count = table.lines.size();
    if (with_folded && !folded_.empty())
      table.lines.push_back({{}, folded_line(folded_, all_, legend_)});
    if (options_.markdown || !options_.columns.empty() || table.fits()) return table;
    table.columns = heads(true);
    if (table.fits() || !options_.sort.empty()) return table;
    const auto problem =
        std::find_if(table.columns.begin(), table.columns.end(),
                     [](const Column& column) { return column.title == "problem"; });
    Table headless = table;
    std::vector<std::string> headings =
        headings_of(headless.take(static_cast<std::size_t>(problem - table.columns.begin())));
    if (headings.empty()) return table;
    headings.resize(std::max(count, headless.lines.size()));
    headless.lines = headed(std::move(headless.lines), headings);
    return headless;
  }

 private:
  bool tell_result() const { return results_.size() > 1 && options_.by != "system"; }

  /// `brief`: a ratio is right of the value that it belongs to, whose name it does not repeat.
  std::vector<Column> heads(bool brief) const {
    std::vector<Column> columns;
    if (tell_result()) columns.push_back({"result"});
    if (benchmarks_) columns.push_back({"benchmark"});
    columns.push_back({"problem"});
    for (const std::string& axis : axes_.shown) columns.push_back({axis});
    const std::string base = pivot_.values.empty() ? "" : pivot_.values.front();
    for (const std::string& value : pivot_.values) {
      columns.push_back({named(value), true});
      if (value != base)
        columns.push_back({brief ? "over " + named(base) : over(named(value), named(base)), true});
    }
    return columns;
  }

  std::vector<Line> lines() {
    std::vector<Line> lines;
    for (const PivotLine* line : kept_) lines.push_back({cells_of(*line)});
    return lines;
  }

  std::vector<std::string> cells_of(const PivotLine& line) {
    std::vector<std::string> cells;
    if (tell_result()) cells.push_back(results_[line.any->result].name);
    if (benchmarks_) cells.push_back(text_of(line.any->first(), "benchmark"));
    cells.push_back(line.any->problem());
    for (const std::string& axis : axes_.shown) cells.push_back(shared_parameter(line, axis));
    for (const std::string& value : pivot_.values) {
      const auto found = line.series.find(value);
      const Series* series = found == line.series.end() ? nullptr : found->second;
      const bool ok = series != nullptr && status_of(*series) == "ok";
      if (ok)
        cells.push_back(marked_quantity(*series));
      else if (series != nullptr)
        cells.push_back(series->status + " " +
                        legend_.footnote(series->status + ": " + series->reason));
      else
        cells.push_back("-");
      if (value != pivot_.values.front()) cells.push_back(ok ? ratio(line, *series) : "-");
    }
    return cells;
  }

  std::string ratio(const PivotLine& line, const Series& series) {
    std::string why;
    const json match = beside_first(line, pivot_, series, options_.by, &why);
    if (!match.is_object()) {
      if (!why.empty()) legend_.add("No ratio (-): " + why + ".");
      return "-";
    }
    std::string text =
        fmt::format("{:.3g}{}", match.at("speedup").get<double>(), ratio_mark(series, match));
    explain_not_given(text_of(match, "system"), match, legend_);
    if (match.contains("ratio_printed")) {
      text += printed_mark;
      legend_.add(printed_note(series, match));
    }
    const Quantity mine = quantity_of(series), base = quantity_of(match);
    return base.unit == "s" ? ratio_cell(text, options_.absolutes, base, mine)
                            : ratio_cell(text, options_.absolutes, mine, base);
  }

  const std::vector<NamedResult>& results_;
  const std::vector<Series>& all_;
  const TableOptions& options_;
  Pivot pivot_;
  Legend& legend_;
  bool benchmarks_;  ///< several
  std::vector<const PivotLine*> kept_;
  std::vector<Series> shown_, folded_;
  Axes axes_;
};

/// `bases`: what the ratios of the tables are over.
void explain(const std::vector<Series>& all, const std::vector<Series>& shown,
             const std::set<std::string>& bases, Legend& legend) {
  const auto any = [&](auto holds) { return std::any_of(shown.begin(), shown.end(), holds); };
  if (bases.size() == 1) legend.add(speedup_header("x", *bases.begin()) + ". " + no_verdict);
  if (bases.size() > 1) legend.add(speedup_header("x", "y") + ". " + no_verdict);
  if (any([](const Series& series) { return series.published && status_of(series) == "ok"; }))
    legend.add(published_note);
  for (const Series& series : shown) legend.add(note_of(mark_of(series)));
  if (ids_repeat(all)) legend.add(environments_note);
}

/// A table for each benchmark, where `whole`, the table of all, is too wide for a terminal.
void add_pivots(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
                const TableOptions& options, const PivotTable& whole) {
  const std::set<std::string> shared = shared_parameters(whole.shown());
  std::vector<std::string> constants = whole.constants();
  std::erase_if(constants, [](const std::string& line) { return !of_all_rows(line); });
  Legend legend;
  std::set<std::string> bases;
  std::vector<Series> folded;
  add_title(page, results, constants);
  for (const std::vector<Series>& rows : by_benchmark(all)) {
    PivotTable table(results, rows, options, legend, shared);
    folded.insert(folded.end(), table.folded().begin(), table.folded().end());
    if (table.shown().empty()) continue;
    if (!table.base().empty()) bases.insert(table.base());
    std::vector<std::string> name{text_of(rows.front().first(), "benchmark")};
    for (const std::string& line : of_one_benchmark(table.constants())) name.push_back(line);
    page.line(join(name, ": "));
    page.table(table.body(false));
    page.blank();
  }
  if (!folded.empty()) {
    page.line(folded_line(folded, all, legend));
    page.blank();
  }
  explain(all, whole.shown(), bases, legend);
  page.notes(legend.lines());
}

}  // namespace

void add_pivot(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
               const TableOptions& options) {
  axes_of(all, options.by);  // refuses a parameter that no row has
  Legend legend;
  PivotTable whole(results, all, options, legend);
  // Of tables of their own each would be sorted by itself.
  const bool automatic = !options.markdown && options.columns.empty() && options.sort.empty();
  if (automatic && several_benchmarks(whole.shown()) && whole.too_wide())
    return add_pivots(page, results, all, options, whole);
  const Table body = whole.body(true);
  explain(all, whole.shown(),
          whole.base().empty() ? std::set<std::string>{} : std::set{whole.base()}, legend);
  add_title(page, results, whole.constants());
  page.table(body, legend.lines());
}

}  // namespace assay
