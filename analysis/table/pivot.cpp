#include "analysis/table/pivot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/legend.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
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
    for (const auto& [result, system] : given) order.push_back(system);
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
  same.rows.front()["parameters"][by] = base->second->first().at("parameters").value(by, json());
  const std::string system = by == "system" ? base->first : by + " " + base->first;
  const Baseline first = Baseline::of(system, base->second->rows);
  return beside(same, &first, system, why);
}

namespace {

class PivotTable {
 public:
  PivotTable(const std::vector<NamedResult>& results, const std::vector<Series>& all,
             const TableOptions& options)
      : results_(results),
        all_(all),
        options_(options),
        pivot_(pivot_of(results, all, options.by)) {}

  std::string text() {
    std::vector<Series> folded;
    std::vector<const PivotLine*> kept;
    for (const PivotLine& line : pivot_.lines) {
      const bool fold = options_.columns != all_columns &&
                        std::all_of(line.series.begin(), line.series.end(),
                                    [](const auto& value) { return may_fold(*value.second); });
      if (!fold) kept.push_back(&line);
      for (const auto& [value, series] : line.series) (fold ? folded : shown_).push_back(*series);
    }
    axes_ = axes_of(shown_.empty() ? all_ : shown_, options_.by);
    choose(axes_, all_, options_.by, options_.columns);
    std::vector<Line> lines;
    for (const PivotLine* line : kept) lines.push_back(cells_of(*line));
    if (!folded.empty()) lines.push_back({{}, folded_line(folded, all_, legend_)});
    explain();
    const std::vector<Column> columns = heads();
    const bool markdown = options_.markdown;
    return table_title(results_, axes_.constants, markdown) +
           (markdown ? markdown_table(columns, lines) : terminal_table(columns, lines)) + "\n" +
           legend_.text(markdown);
  }

 private:
  bool tell_result() const { return results_.size() > 1 && options_.by != "system"; }

  std::vector<Column> heads() const {
    std::vector<Column> columns;
    if (tell_result()) columns.push_back({"result"});
    if (several_benchmarks(all_)) columns.push_back({"benchmark"});
    columns.push_back({"problem"});
    for (const std::string& axis : axes_.shown) columns.push_back({axis});
    for (const std::string& value : pivot_.values) {
      columns.push_back({value.empty() ? "(none)" : value, true});
      if (value != pivot_.values.front())
        columns.push_back({over(value, pivot_.values.front()), true});
    }
    return columns;
  }

  Line cells_of(const PivotLine& line) {
    Line cells;
    if (tell_result()) cells.cells.push_back(results_[line.any->result].name);
    if (several_benchmarks(all_)) cells.cells.push_back(text_of(line.any->first(), "benchmark"));
    cells.cells.push_back(line.any->problem());
    for (const std::string& axis : axes_.shown) cells.cells.push_back(shared_parameter(line, axis));
    for (const std::string& value : pivot_.values) {
      const auto found = line.series.find(value);
      const Series* series = found == line.series.end() ? nullptr : found->second;
      const bool ok = series != nullptr && status_of(*series) == "ok";
      if (ok)
        cells.cells.push_back(marked_quantity(*series));
      else if (series != nullptr)
        cells.cells.push_back(series->status + " " +
                              legend_.footnote(series->status + ": " + series->reason));
      else
        cells.cells.push_back("-");
      if (value != pivot_.values.front()) cells.cells.push_back(ok ? ratio(line, *series) : "-");
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

  void explain() {
    const std::string base = pivot_.values.empty() ? "-" : pivot_.values.front();
    const auto any = [&](auto holds) { return std::any_of(shown_.begin(), shown_.end(), holds); };
    if (pivot_.values.size() > 1) legend_.add(speedup_header("x", base) + ". " + no_verdict);
    if (any([](const Series& series) { return series.published && status_of(series) == "ok"; }))
      legend_.add(published_note);
    if (any(any_shared)) legend_.add(shared_note);
    if (any(any_oversubscribed)) legend_.add(oversubscribed_note);
    if (ids_repeat(all_)) legend_.add(environments_note);
  }

  const std::vector<NamedResult>& results_;
  const std::vector<Series>& all_;
  const TableOptions& options_;
  const Pivot pivot_;
  std::vector<Series> shown_;
  Axes axes_;
  Legend legend_;
};

}  // namespace

std::string pivot_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        const TableOptions& options) {
  axes_of(all, options.by);  // refuses a parameter that no row has
  return PivotTable(results, all, options).text();
}

}  // namespace assay
