#include "analysis/table/row_table.hpp"

#include <algorithm>

#include "analysis/table/benchmark_tables.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"

namespace assay {

namespace {

using Systems = std::vector<std::pair<std::string, const Baseline*>>;

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
    return benchmark_tables(
        results, all, table,
        [&](const std::vector<Series>& own, const Axes& differing) {
          return fields_of({results, own, differing, systems, options.absolutes});
        },
        {}, options);
  table.constants = shared_by(rows, axes.constants);
  return field_table(results, all, table, options);
}

}  // namespace assay
