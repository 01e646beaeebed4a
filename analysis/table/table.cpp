#include "analysis/table/table.hpp"

#include <algorithm>
#include <map>

#include "analysis/table/below_rows.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/precision_table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

/// Paths without the folders that contain all of them, and without their common end: "2026-11-19"
/// for results/weekly/2026-11-19/result.json.
void tell_apart(Texts& paths) {
  std::string begin = paths.front(), end = paths.front();
  for (const std::string& path : paths) {
    begin.erase(std::ranges::mismatch(begin, path).in1, begin.end());
    const auto last = std::mismatch(end.rbegin(), end.rend(), path.rbegin(), path.rend());
    end.erase(end.begin(), last.first.base());
  }
  begin.erase(begin.find_last_of('/') + 1);
  end.erase(0, std::min(end.find('/'), end.size()));
  const auto all_longer = [&](std::size_t size) {
    return std::ranges::all_of(paths, [size](const auto& path) { return path.size() > size; });
  };
  if (!all_longer(begin.size())) begin.clear();
  if (!all_longer(begin.size() + end.size())) end.clear();
  for (std::string& path : paths)
    path = path.substr(begin.size(), path.size() - begin.size() - end.size());
}

/// A name for each result, which distinguishes it from the others.
Texts system_names(const Results& results) {
  std::map<std::string, std::vector<std::size_t>> of_system;
  for (std::size_t i = 0; i < results.size(); ++i) of_system[results[i].system()].push_back(i);
  Texts names(results.size());
  for (const auto& [system, members] : of_system) {
    Texts paths;
    for (const std::size_t member : members) paths.push_back(results[member].name);
    if (members.size() == 1)
      paths.front() = system;
    else
      tell_apart(paths);
    for (std::size_t i = 0; i < members.size(); ++i) names[members[i]] = paths[i];
  }
  return names;
}

/// Prints title, table and legend. By default options.columns has the columns that distinguish
/// rows, and unsupported rows are folded to one line.
void add_rows(Page& page, const Results& results, const SeriesList& all,
              const std::vector<System>& systems, const TableOptions& options) {
  if (options.absolutes && systems.empty())
    throw InputError(
        "--absolutes has no effect here (no ratio is shown). Leave it out, or name a system with "
        "--baseline.");
  FieldTable table;
  for (const Series& series : all)
    (options.columns != all_columns && may_fold(series) ? table.folded : table.rows)
        .push_back(series);
  table.fields = [&](const SeriesList& rows, const Axes& axes) {
    return list_fields({results, rows, axes, systems, options.absolutes});
  };
  table.problems_may_head = options.sort.empty();
  add_field_table(page, results, all, table, options);
}

}  // namespace

SeriesList select_series(const Results& results, const TableOptions& options) {
  SeriesList all = make_series(results);
  if (options.by == "system") {
    const Texts names = system_names(results);
    for (Series& series : all)
      for (SharedRow& launch : series.rows) {
        Row& row = launch.own();
        row.parameters["system"] = names[series.result];
        // The system does not describe the work, whatever other columns a row has.
        if (row.system_parameters) row.system_parameters->push_back("system");
      }
  }
  all = filter_series(results, std::move(all), options.filter);
  sort_by(results, all, options.sort);
  return all;
}

std::string render_table(const Results& results, const std::vector<Baseline>& baselines,
                         const TableOptions& options) {
  const SeriesList all = select_series(results, options);
  Page page(options.markdown, options.latex);
  std::string first = explain_nothing_common(all, baselines);
  if (options.by == "system") first += explain_nothing_common_by_system(results, all);
  if (!first.empty())
    for (const std::string& line : split(first, '\n')) page.statement(line);
  const bool by_line = options.by.empty();
  if (by_line) {
    add_rows(page, results, all, list_systems(all, baselines), options);
  } else if (!baselines.empty()) {
    add_crossed(page, results, cross(results, all, baselines, options.by), all, options);
    return page.text();
  } else if (options.by == "precision") {
    add_precisions(page, results, make_series(results), all, options);
  } else {
    add_pivot(page, results, all, options);
  }
  // A filter selects a part of the rows, but totals are those of whole lists.
  if (!add_totals(page, results, all, options.filter.empty()) && (!by_line || options.any_width()))
    page.blank();
  page.remark(counts(all));
  if (by_line) {
    add_curves(page, results, all);
    add_scaling(page, results, all);
  }
  return page.text();
}

}  // namespace assay
