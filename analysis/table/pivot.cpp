#include "analysis/table/pivot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"
#include "analysis/units.hpp"
#include "core/error.hpp"
#include "core/precision.hpp"
#include "core/text.hpp"

namespace assay {

using nlohmann::json;

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
  if (!by.empty() && std::find(known.begin(), known.end(), by) == known.end())
    throw InputError(unknown_name("parameter for --by", by, known));
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

std::string pivot_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                        const Axes& axes, const TableOptions& options) {
  std::vector<std::string> values;
  std::map<std::string, std::map<std::string, const Series*>> lines;  // what stays → value → series
  std::vector<std::string> order;
  for (const Series& series : all) {
    json rest = series.first().at("parameters");
    const std::string value = series.parameter(options.by);
    rest.erase(options.by);
    const std::string key = fmt::format(
        "{} {} {} {} {}", series.result, series.environment, text_of(series.first(), "benchmark"),
        text_of(series.first().at("problem"), "descriptor"), rest.dump());
    if (!lines.contains(key)) order.push_back(key);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    lines[key].emplace(value, &series);
  }

  if (options.by == "precision") {
    // From wide to narrow: a gain over the wide one is what is asked for.
    const auto wide = precision_names();
    std::stable_sort(values.begin(), values.end(), [&](const std::string& a, const std::string& b) {
      return std::find(wide.begin(), wide.end(), a) < std::find(wide.begin(), wide.end(), b);
    });
  }

  std::vector<Column> columns;
  if (results.size() > 1) columns.push_back({"result"});
  columns.push_back({"problem"});
  for (const std::string& axis : axes.shown) columns.push_back({axis});
  for (const std::string& value : values) {
    columns.push_back({value.empty() ? "(none)" : value, true});
    if (value != values.front())
      columns.push_back({fmt::format("{} / {}", values.front(), value), true});
  }

  std::vector<Line> table;
  std::vector<std::string> notes;
  bool published = false, shared = false;
  for (const std::string& key : order) {
    const auto& line = lines.at(key);
    const Series& any = *line.begin()->second;
    Line cells;
    if (results.size() > 1) cells.cells.push_back(results[any.result].name);
    cells.cells.push_back(any.problem());
    for (const std::string& axis : axes.shown) cells.cells.push_back(any.parameter(axis));
    const auto base = line.find(values.front());
    for (const std::string& value : values) {
      const auto found = line.find(value);
      const Series* series = found == line.end() ? nullptr : found->second;
      const bool ok = series != nullptr && series->status == "ok";
      if (ok) {
        cells.cells.push_back(human_seconds(series->median) + (series->published ? "*" : "") +
                              (any_shared(*series) ? "!" : ""));
        published = published || series->published;
        shared = shared || any_shared(*series);
      } else if (series != nullptr) {
        notes.push_back(
            fmt::format("[{}] {}: {}", notes.size() + 1, series->status, series->reason));
        cells.cells.push_back(fmt::format("{} [{}]", series->status, notes.size()));
      } else {
        cells.cells.push_back("-");
      }
      if (value == values.front()) continue;
      const bool both =
          ok && base != line.end() && base->second->status == "ok" && series->median > 0;
      cells.cells.push_back(both ? fmt::format("{:.3g}", base->second->median / series->median)
                                 : "-");
    }
    table.push_back(std::move(cells));
  }
  std::string text =
      options.markdown ? markdown_table(columns, table) : terminal_table(columns, table);
  const std::string base = values.empty() ? "-" : values.front();
  text += fmt::format(
      "\n{} / x: time of {} over time of x, above 1 x is faster. It is no verdict: `assay table` "
      "shows, it does not compare.\n",
      base, base);
  if (published) text += "* published, not measured by Assay.\n";
  if (shared) text += std::string(shared_note) + "\n";
  if (ids_repeat(all)) text += std::string(environments_note) + "\n";
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace assay
