#include "analysis/table/pivot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/table.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// "Volta / Pascal" if the series of a line differ in the parameter although they share the line.
std::string find_shared_parameter(const PivotLine& line, const std::string& name) {
  Texts values;
  for (const auto& [value, series] : line.series)
    if (const std::string text = format_axis(*series, name);
        !text.empty() && std::ranges::find(values, text) == values.end())
      values.push_back(text);
  return join(values, " / ");
}

/// True if some line has a time at this value, and another one to compare with it.
bool is_base(const std::vector<PivotLine>& lines, const std::string& value) {
  const auto measured = [](const auto& entry) { return has_number(*entry.second); };
  return std::ranges::any_of(lines, [&](const PivotLine& line) {
    const auto entry = line.series.find(value);
    return entry != line.series.end() && measured(*entry) &&
           std::ranges::count_if(line.series, measured) > 1;
  });
}

/// Equal for series of one line.
std::string line_key(const Results& results, const Series& series, const std::string& by) {
  const Row& row = series.first();
  auto parameters = row.parameters;
  parameters.erase(by);
  // Two systems are two results with two environments and architectures; each has its own division
  // of an SMT level into threads.
  const bool systems = by == "system";
  if (systems) parameters.erase("architecture");
  if (systems && parameters.contains("smt"))
    for (const char* layout : {"threads", "ranks"}) parameters.erase(layout);
  return fmt::format("{} {} {} {} {}", systems ? 0 : series.result,
                     systems ? "" : environment_but(results, series, by), row.benchmark,
                     row.problem.descriptor, nlohmann::json(parameters).dump());
}

std::string name_or_none(const std::string& value) { return value.empty() ? "(none)" : value; }

}  // namespace

void sort_counts(Texts& values) {
  const bool counts = std::ranges::all_of(values, [](const std::string& value) {
    return !value.empty() && value.size() < 18 &&
           value.find_first_not_of("0123456789") == std::string::npos;
  });
  if (counts)
    std::ranges::sort(values, {}, [](const std::string& value) { return std::stoll(value); });
}

Pivot make_pivot(const Results& results, const SeriesList& all, const std::string& by) {
  Pivot pivot;
  std::map<std::string, std::size_t> lines;         // by key
  std::map<std::string, std::size_t> first_result;  // by value
  for (const Series& series : all) {
    const std::string value = series.parameter(by);
    std::string key = line_key(results, series, by);
    // The same case in another environment of a result never shares a line.
    while (lines.contains(key) && pivot.lines[lines.at(key)].series.contains(value)) key += '+';
    if (lines.emplace(key, pivot.lines.size()).second) pivot.lines.push_back({&series});
    pivot.lines[lines.at(key)].series.emplace(value, &series);
    const auto [first, fresh] = first_result.try_emplace(value, series.result);
    first->second = std::min(first->second, series.result);
    if (fresh) pivot.values.push_back(value);
  }
  // The first given system is the one with which the others are compared.
  if (by == "system")
    std::ranges::stable_sort(pivot.values, {}, [&](const std::string& value) {
      return std::pair(first_result.at(value), value);
    });
  sort_counts(pivot.values);
  // Values without any ratio come last, for example a backend that this machine cannot use, or the
  // `--blas auto` of backends that have no other value.
  if (by != "system")
    std::stable_partition(pivot.values.begin(), pivot.values.end(),
                          [&](const std::string& value) { return is_base(pivot.lines, value); });
  return pivot;
}

Match beside_first(const PivotLine& line, const Pivot& pivot, const Series& series,
                   const std::string& by, std::string* why) {
  const auto base = line.series.find(pivot.values.front());
  if (base == line.series.end() || base->second == &series || !has_number(*base->second))
    return std::nullopt;
  // The parameter that should differ does not prevent a match; every other difference does.
  Series same = series;
  const auto& parameters = base->second->first().parameters;
  const auto value = parameters.find(by);
  same.rows.front().own().parameters[by] =
      value == parameters.end() ? nlohmann::json() : value->second;
  const std::string system = by == "system" ? base->first : by + " " + base->first;
  const Baseline first = Baseline::make_of_launches(system, *base->second);
  return beside(same, {system, &first}, why);
}

namespace {

/// The table of some series while it is built.
struct PivotTable {
  Table table{};
  std::size_t problem = 0;  ///< the column of the problems
  SeriesList shown{}, folded{};
  Axes axes{};
  std::string base{};  ///< the value that ratios are over; "" without ratios

  /// Makes the table narrow enough for a terminal, if possible. `sorted`: the rows are not in the
  /// order of their problems.
  void shrink(bool sorted) {
    if (table.fits()) return;
    // A ratio is to the right of its value, so its title need not repeat the value's name.
    for (std::size_t i = problem + axes.shown.size() + 3; i < table.columns.size(); i += 2)
      table.columns[i].title = "over " + base;
    if (table.fits() || sorted) return;
    table.add_headings(table.take_headings(problem));
  }
};

Cell make_ratio_cell(const PivotLine& line, const Pivot& pivot, const Series& series,
                     const TableOptions& options, Legend& legend) {
  std::string why;
  const Match match = beside_first(line, pivot, series, options.by, &why);
  if (!match) {
    if (!why.empty()) legend.add("No ratio (-): " + why + ".");
    return "-";
  }
  const std::string text = fmt::format("{:.3g}{}", match->speedup,
                                       format_ratio_marks(series, *match, match->system, legend));
  Quantity first = make_quantity(*match), second = make_quantity(series);
  if (first.unit != "s") std::swap(first, second);
  return {format_ratio_cell(text, options.absolutes, first, second), match->speedup};
}

/// True if cells show rates without ratios: a matrix.
bool has_rates(const TableOptions& options) {
  return std::ranges::find(options.columns, "rate") != options.columns.end();
}

/// Adds a column for each value of the parameter, and one for its ratio to the first value.
void add_values(const PivotLine& pivot_line, const Pivot& pivot, const TableOptions& options,
                Line& line, Legend& legend) {
  for (const std::string& value : pivot.values) {
    const auto entry = pivot_line.series.find(value);
    const Series* series = entry == pivot_line.series.end() ? nullptr : entry->second;
    const bool ok = series != nullptr && has_number(*series);
    if (ok)
      line.add(has_rates(options) ? format_rate_cell(*series, legend) : format_value_cell(*series));
    else if (series != nullptr)
      line.add(series->status + " " + legend.footnote(series->status + ": " + series->reason));
    else
      line.add("-");
    if (value != pivot.values.front() && !has_rates(options))
      line.add(ok ? make_ratio_cell(pivot_line, pivot, *series, options, legend) : "-");
  }
}

/// The explanations go into `legend`. `constant_names`: parameters that are reported elsewhere.
PivotTable make_table(const Results& results, const SeriesList& all, const TableOptions& options,
                      Legend& legend, const std::set<std::string>& constant_names = {}) {
  PivotTable pivoted;
  Pivot pivot = make_pivot(results, all, options.by);
  std::erase_if(pivot.lines, [&](const PivotLine& line) {
    const bool fold =
        options.columns != all_columns &&
        std::ranges::all_of(line.series, [](auto& at) { return may_fold(*at.second); });
    for (const auto& [value, series] : line.series)
      (fold ? pivoted.folded : pivoted.shown).push_back(*series);
    return fold;
  });
  std::erase_if(pivot.values, [&](const std::string& value) {
    return std::ranges::none_of(pivot.lines,
                                [&](auto& line) { return line.series.contains(value); });
  });
  const SeriesList& rows = pivoted.shown.empty() ? all : pivoted.shown;
  const Texts names = list_parameter_names(rows);
  const bool here = std::ranges::find(names, options.by) != names.end();
  pivoted.axes = find_axes(rows, here ? options.by : "", constant_names);
  Texts columns = options.columns;
  std::erase(columns, "rate");
  choose(pivoted.axes, all, options.by, columns);
  Table& table = pivoted.table;
  table.lines.resize(pivot.lines.size());
  const auto add = [&](const char* title, auto cell) {
    table.add({title}, [&](std::size_t i) { return cell(*pivot.lines[i].any); });
  };
  if (results.size() > 1 && options.by != "system")
    add("result", [&](const Series& series) { return results[series.result].name; });
  if (several_benchmarks(all))
    add("benchmark", [](const Series& series) { return series.first().benchmark; });
  pivoted.problem = table.columns.size();
  add("problem", [](const Series& series) { return series.problem(); });
  for (const std::string& axis : pivoted.axes.shown)
    table.add({axis}, [&](std::size_t i) { return find_shared_parameter(pivot.lines[i], axis); });
  for (const std::string& value : pivot.values) {
    const int spare = &value == pivot.values.data() ? 0 : static_cast<int>(table.columns.size());
    table.columns.push_back({name_or_none(value), true, "", spare});
    if (value == pivot.values.front() || has_rates(options)) continue;
    pivoted.base = name_or_none(pivot.values.front());
    table.columns.push_back({over(name_or_none(value), pivoted.base), true, "", spare + 1});
  }
  for (std::size_t i = 0; i < pivot.lines.size(); ++i)
    add_values(pivot.lines[i], pivot, options, table.lines[i], legend);
  return pivoted;
}

/// `bases`: the values over which the ratios of the tables are.
void explain(const SeriesList& all, const SeriesList& shown, std::set<std::string> bases,
             Legend& legend) {
  bases.erase("");
  if (!bases.empty())
    legend.add((bases.size() == 1 ? format_speedup_header("x", *bases.begin())
                                  : format_speedup_header("x", "y")) +
               ". " + no_verdict);
  if (std::ranges::any_of(shown,
                          [](auto& series) { return series.published && has_number(series); }))
    legend.add(published_note);
  for (const Series& series : shown) legend.add(explain_mark(choose_mark(series)));
  if (ids_repeat(all)) legend.add(environments_note);
}

}  // namespace

void add_pivot(Page& page, const Results& results, const SeriesList& all,
               const TableOptions& options) {
  find_axes(all, options.by);  // refuses a parameter that no row has
  Legend legend;
  PivotTable whole = make_table(results, all, options, legend);
  const bool may_shrink = !options.any_width() && options.columns.empty();
  // Separate tables would be sorted separately.
  if (!may_shrink || !options.sort.empty() || !several_benchmarks(whole.shown) ||
      whole.table.fits()) {
    if (!whole.folded.empty())
      whole.table.lines.push_back({{}, fold_lines(whole.folded, all, legend)});
    if (may_shrink) whole.shrink(!options.sort.empty());
    explain(all, whole.shown, {whole.base}, legend);
    add_title(page, results, all, whole.axes.lines());
    return page.table(whole.table, legend.lines());
  }
  Legend of_parts;
  SeriesList folded;
  std::set<std::string> bases;
  add_title(page, results, all, Axes{{}, whole.axes.shared}.lines());
  for (const SeriesList& rows : by_benchmark(all)) {
    PivotTable part = make_table(results, rows, options, of_parts, whole.axes.same);
    folded.insert(folded.end(), part.folded.begin(), part.folded.end());
    if (part.shown.empty()) continue;
    bases.insert(part.base);
    part.shrink(false);
    add_part_title(page, rows, part.axes.shared);
    page.table(part.table);
    page.blank();
  }
  explain(all, whole.shown, bases, of_parts);
  add_end(page, folded, all, of_parts);
}

}  // namespace assay
