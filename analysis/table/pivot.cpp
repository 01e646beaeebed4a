#include "analysis/table/pivot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/legend.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "core/api/precision.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// "Volta / Pascal" where the series of a line differ in it all the same.
std::string shared_parameter(const PivotLine& line, const std::string& name) {
  std::vector<std::string> values;
  for (const auto& [value, series] : line.series)
    if (const std::string text = series->parameter(name);
        !text.empty() && std::find(values.begin(), values.end(), text) == values.end())
      values.push_back(text);
  return join(values, " / ");
}

}  // namespace

Axes axes_of(const std::vector<Series>& all, const std::string& by) {
  Axes axes;
  std::vector<std::string> names{"direction", "precision", "backend", "algorithm"};
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> have;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().at("parameters").items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      values[name].insert(series.parameter(name));
      ++have[name];
    }
  std::erase(names, "problem");  // the first column
  std::vector<std::string> known;
  for (const std::string& name : names)
    if (values.contains(name)) known.push_back(name);
  if (!by.empty() && std::find(known.begin(), known.end(), by) == known.end()) {
    known.emplace_back("system");  // for whose sake prepared() makes it a parameter
    throw InputError(unknown_name("parameter for --by", by, known));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (name == by || !values.contains(name)) continue;
    const bool constant = values[name].size() == 1 && have[name] == all.size();
    if (i < 4 || !constant)
      axes.shown.push_back(name);
    else if (const std::string& value = *values[name].begin(); !value.empty())
      axes.constants.push_back(name + " " + value);
  }
  return axes;
}

void sort_counts(std::vector<std::string>& values) {
  const bool counts = std::all_of(values.begin(), values.end(), [](const std::string& one) {
    return !one.empty() && one.size() < 18 &&
           one.find_first_not_of("0123456789") == std::string::npos;
  });
  if (!counts) return;
  std::sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
    return std::stoll(a) < std::stoll(b);
  });
}

Pivot pivot_of(const std::vector<Series>& all, const std::string& by) {
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
    std::string key =
        fmt::format("{} {} {} {} {}", systems ? 0 : series.result,
                    systems ? "" : series.environment, text_of(series.first(), "benchmark"),
                    text_of(series.first().at("problem"), "descriptor"), rest.dump());
    // The same case once more in another environment of one result: never in the same line.
    while (lines.contains(key) && pivot.lines[lines.at(key)].series.contains(value)) key += '+';
    if (lines.emplace(key, pivot.lines.size()).second) pivot.lines.push_back({&series, {}});
    pivot.lines[lines.at(key)].series.emplace(value, &series);
    if (std::find(pivot.values.begin(), pivot.values.end(), value) == pivot.values.end())
      pivot.values.push_back(value);
  }
  std::vector<std::string> order;
  // From wide to narrow: a gain over the wide one is what is asked for.
  if (by == "precision") order = precision_names();
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

std::string pivot_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        const Axes& axes, const TableOptions& options) {
  const Pivot pivot = pivot_of(all, options.by);
  const std::vector<std::string>& values = pivot.values;
  const bool tell_result = results.size() > 1 && options.by != "system";
  const bool errors = options.by == "precision";

  std::vector<Column> columns;
  if (tell_result) columns.push_back({"result"});
  if (several_benchmarks(all)) columns.push_back({"benchmark"});
  columns.push_back({"problem"});
  for (const std::string& axis : axes.shown) columns.push_back({axis});
  for (const std::string& value : values) {
    columns.push_back({value.empty() ? "(none)" : value, true});
    if (value != values.front()) columns.push_back({over(value, values.front()), true});
    // What the speed costs.
    if (errors) columns.push_back({fmt::format("error of {}", value), true});
  }

  Legend legend;
  std::vector<Line> table;
  std::vector<std::string> notes;
  bool published = false, shared = false, oversubscribed = false;
  for (const PivotLine& line : pivot.lines) {
    Line cells;
    if (tell_result) cells.cells.push_back(results[line.any->result].name);
    if (several_benchmarks(all)) cells.cells.push_back(text_of(line.any->first(), "benchmark"));
    cells.cells.push_back(line.any->problem());
    for (const std::string& axis : axes.shown) cells.cells.push_back(shared_parameter(line, axis));
    for (const std::string& value : values) {
      const auto found = line.series.find(value);
      const Series* series = found == line.series.end() ? nullptr : found->second;
      const bool ok = series != nullptr && status_of(*series) == "ok";
      if (ok) {
        cells.cells.push_back(marked_quantity(*series));
        published = published || series->published;
        shared = shared || any_shared(*series);
        oversubscribed = oversubscribed || any_oversubscribed(*series);
      } else if (series != nullptr) {
        notes.push_back(
            fmt::format("[{}] {}: {}", notes.size() + 1, series->status, series->reason));
        cells.cells.push_back(fmt::format("{} [{}]", series->status, notes.size()));
      } else {
        cells.cells.push_back("-");
      }
      const auto add_error = [&] {
        if (errors) cells.cells.push_back(ok ? error_cell(*series) : "-");
      };
      if (value == values.front()) {
        add_error();
        continue;
      }
      std::string ratio = "-", why;
      if (ok) {
        const json match = beside_first(line, pivot, *series, options.by, &why);
        const Quantity mine = quantity_of(*series);
        if (match.is_object()) {
          const Quantity its = quantity_of(match);
          ratio = fmt::format("{:.3g}", match.at("speedup").get<double>());
          if (match.contains("ratio_printed")) {
            ratio += printed_mark;
            legend.add(printed_note(*series, match));
          }
          ratio = its.unit == "s" ? ratio_cell(ratio, options.absolutes, its, mine)
                                  : ratio_cell(ratio, options.absolutes, mine, its);
        } else if (!why.empty()) {
          legend.add("No ratio (-): " + why + ".");
        }
      }
      cells.cells.push_back(ratio);
      add_error();
    }
    table.push_back(std::move(cells));
  }
  std::string text =
      options.markdown ? markdown_table(columns, table) : terminal_table(columns, table);
  const std::string base = values.empty() ? "-" : values.front();
  text += "\n";
  legend.add(speedup_header("x", base) + ". " + no_verdict);
  if (errors) legend.add(error_note);
  if (published) legend.add(published_note);
  if (shared) legend.add(shared_note);
  if (oversubscribed) legend.add(oversubscribed_note);
  if (ids_repeat(all)) legend.add(environments_note);
  for (const std::string& note : notes) legend.add(note);
  return text + legend.text(options.markdown);
}

}  // namespace assay
