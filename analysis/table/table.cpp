#include "analysis/table/table.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/table/benchmark_tables.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/curve_table.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/precision_table.hpp"
#include "analysis/table/selection.hpp"
#include "analysis/table/totals.hpp"
#include "core/base/error.hpp"

namespace assay {

using nlohmann::json;

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

namespace {

/// Paths without the folders in which all are, and without the end that all have: "2026-11-19" of
/// results/weekly/2026-11-19/result.json.
void tell_apart(std::vector<std::string>& paths) {
  std::string begin = paths.front(), end = paths.front();
  for (const std::string& path : paths) {
    const auto first = std::mismatch(begin.begin(), begin.end(), path.begin(), path.end());
    begin.erase(first.first, begin.end());
    const auto last = std::mismatch(end.rbegin(), end.rend(), path.rbegin(), path.rend());
    end.erase(end.begin(), last.first.base());
  }
  begin.erase(begin.find_last_of('/') + 1);
  end.erase(0, std::min(end.find('/'), end.size()));
  const auto all_longer = [&](std::size_t size) {
    return std::all_of(paths.begin(), paths.end(),
                       [size](const std::string& path) { return path.size() > size; });
  };
  if (!all_longer(begin.size())) begin.clear();
  if (!all_longer(begin.size() + end.size())) end.clear();
  for (std::string& path : paths)
    path = path.substr(begin.size(), path.size() - begin.size() - end.size());
}

}  // namespace

std::vector<NamedResult> prepared(std::vector<NamedResult> results, const std::string& by) {
  if (by != "system") return results;
  std::map<std::string, std::vector<std::string>> names;  // of the results of a system
  const auto of_result = [&](const NamedResult& named) -> std::vector<std::string>& {
    return names[named.result.at("system").at("name").get<std::string>()];
  };
  for (const NamedResult& named : results) of_result(named).push_back(named.name);
  for (auto& [system, paths] : names) {
    if (paths.size() == 1)
      paths.front() = system;
    else
      tell_apart(paths);
    std::reverse(paths.begin(), paths.end());  // taken from the end
  }
  for (NamedResult& named : results) {
    const std::string system = of_result(named).back();
    of_result(named).pop_back();
    for (json& row : named.result.at("rows")) {
      row["parameters"]["system"] = system;
      // Not the work, whatever else a row may list.
      if (row.contains("system_parameters")) row["system_parameters"].push_back("system");
    }
  }
  return results;
}

std::vector<Series> selected(const std::vector<NamedResult>& results, const TableOptions& options) {
  std::vector<Series> all = filtered(results, series_of(results), options.filter);
  sort_by(results, all, options.sort);
  return all;
}

namespace {

/// Title, table and legend. Without options.columns: the columns that tell rows apart, with
/// unsupported rows folded to one line. Where a table of several benchmarks would be wider than
/// table_width, each has its own. On a terminal, spare columns are left out, and problems stand
/// above their rows, where that makes a table fit.
void add_rows(Page& page, const std::vector<NamedResult>& results, const std::vector<Series>& all,
              const std::vector<std::pair<std::string, const Baseline*>>& systems,
              const TableOptions& options) {
  if (options.absolutes && systems.empty())
    throw InputError(
        "--absolutes has no effect here (no ratio is shown). Leave it out, or name a system with "
        "--baseline.");
  FieldTable table;
  for (const Series& series : all)
    (options.columns != all_columns && may_fold(series) ? table.folded : table.rows)
        .push_back(series);
  const std::vector<Series>& rows = table.rows;
  const Axes axes = axes_of(rows.empty() ? all : rows, "");
  const FieldSource source{results, rows, axes, systems, options.absolutes};
  table.fields = fields_of(source);
  table.problems_may_head = options.sort.empty();
  // Separate tables would each be sorted by itself.
  const bool automatic = options.columns.empty() && options.sort.empty();
  if (automatic && several_benchmarks(rows) && too_wide(table, options))
    return add_benchmark_tables(
        page, results, all, table,
        [&](const std::vector<Series>& own, const Axes& differing) {
          return fields_of({results, own, differing, systems, options.absolutes});
        },
        {}, options);
  table.constants = shared_by(rows, axes.constants);
  add_field_table(page, results, all, table, options);
}

}  // namespace

std::string render_table(std::vector<NamedResult> given, const std::vector<Baseline>& baselines,
                         const TableOptions& options) {
  const std::vector<NamedResult> results = prepared(std::move(given), options.by);
  const std::vector<Series> all = selected(results, options);
  Page page(options.markdown);
  std::string first = nothing_common(all, baselines);
  if (options.by == "system") first += nothing_common_by_system(results, all);
  if (!first.empty()) page.add((options.markdown ? markdown_text(first) : first) + "\n");
  if (!options.by.empty() && !baselines.empty()) {
    add_crossed(page, results, cross(results, all, baselines, options.by), all, options);
    return page.text();
  }
  const bool by_line = options.by.empty();
  if (by_line)
    add_rows(page, results, all, systems_of(all, baselines), options);
  else if (options.by == "precision")
    add_precisions(page, results, series_of(results), all, options);
  else
    add_pivot(page, results, all, options);
  // A filter selects a part of the rows, and totals are of whole lists.
  if (!add_totals(page, results, all, options.filter.empty()) && (!by_line || options.markdown))
    page.blank();
  page.add(counts(all) + "\n");
  if (by_line) {
    add_curves(page, results, all);
    add_scaling(page, results, all);
  }
  return page.text();
}

}  // namespace assay
