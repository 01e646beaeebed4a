#include "analysis/table/row_table.hpp"

#include <algorithm>
#include <set>

#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

using Systems = std::vector<std::pair<std::string, const Baseline*>>;

constexpr const char* of_all = "all rows: ";

/// The rows of each benchmark, in the order in which the benchmarks appear.
std::vector<std::vector<Series>> by_benchmark(const std::vector<Series>& rows) {
  std::vector<std::string> names;
  std::vector<std::vector<Series>> groups;
  for (const Series& series : rows) {
    const std::string name = text_of(series.first(), "benchmark");
    const auto place =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (place == names.size()) {
      names.push_back(name);
      groups.emplace_back();
    }
    groups[place].push_back(series);
  }
  return groups;
}

/// A table for each benchmark: its columns are the parameters that differ between its own rows.
std::string table_of_each_benchmark(const std::vector<NamedResult>& results,
                                    const std::vector<Series>& all, const FieldTable& whole,
                                    const Systems& systems, const TableOptions& options) {
  const std::set<std::string> shared = shared_parameters(whole.rows);
  std::vector<FieldTable> tables;
  for (std::vector<Series>& rows : by_benchmark(whole.rows)) {
    FieldTable& table = tables.emplace_back();
    table.of = text_of(rows.front().first(), "benchmark");
    table.problems_may_head = whole.problems_may_head;
    table.rows = std::move(rows);
    const Axes axes = axes_of(table.rows, "", shared);
    table.fields = fields_of({results, table.rows, axes, systems, options.absolutes});
    // "all rows: " is what the name of the benchmark says here.
    for (const std::string& line : shared_by(table.rows, axes.constants))
      table.constants.push_back(
          line.substr(line.starts_with(of_all) ? std::string(of_all).size() : 0));
  }
  std::vector<std::string> constants;
  for (const std::string& name : parameter_names(whole.rows))
    if (const std::string text = axis_text(whole.rows.front(), name);
        shared.contains(name) && !text.empty())
      constants.push_back(name + " " + text);
  if (!constants.empty()) constants.assign(1, of_all + join(constants, ", "));
  return field_tables(results, all, tables, constants, whole.folded, options);
}

}  // namespace

std::string row_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
                      const Systems& systems, const TableOptions& options) {
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
  // Of tables of their own each would be sorted by itself.
  const bool automatic = options.columns.empty() && options.sort.empty();
  if (automatic && several_benchmarks(rows) && too_wide(table, options))
    return table_of_each_benchmark(results, all, table, systems, options);
  table.constants = shared_by(rows, axes.constants);
  return field_table(results, all, table, options);
}

}  // namespace assay
