#include "analysis/table/row_table.hpp"

#include "analysis/table/field_table.hpp"
#include "analysis/table/folded.hpp"
#include "analysis/table/table.hpp"
#include "core/base/error.hpp"

namespace assay {

std::string row_table(const std::vector<NamedResult>& results, const std::vector<Series>& all,
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
  table.constants = shared_by(rows, axes.constants);
  return field_table(results, all, table, options);
}

}  // namespace assay
