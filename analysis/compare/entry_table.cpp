#include "analysis/compare/entry_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analysis/series.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/benchmark_tables.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/field_table.hpp"
#include "analysis/table/table.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// A row as a table describes it, without its numbers: these are in the document.
Series without_numbers(const std::string& id, const json& row) {
  Series series;
  series.status = "ok";
  json& copy = series.rows.emplace_back(json{{"id", id}}).own();
  for (const char* part : {"benchmark", "problem", "names", "parameters", "executed"})
    if (row.contains(part)) copy[part] = row[part];
  return series;
}

/// The row of an id in either side. A parameter that differs between them is "base / new".
Series row_of_sides(const std::string& id, const Side& base, const Side& updated) {
  const auto was = base.rows().find(id), is = updated.rows().find(id);
  if (is == updated.rows().end()) return without_numbers(id, was->second.row());
  Series series = without_numbers(id, is->second.row());
  if (was == base.rows().end()) return series;
  const Series old = without_numbers(id, was->second.row());
  json parameters = json::object();
  for (const std::string& name : parameter_names({old, series})) {
    const std::string before = axis_text(old, name), now = axis_text(series, name);
    parameters[name] = before == now ? now
                                     : fmt::format("{} / {}", before.empty() ? "-" : before,
                                                   now.empty() ? "-" : now);
  }
  json& row = series.rows.front().own();
  row["parameters"] = parameters;
  row.erase("executed");  // it would tell the algorithm of new alone
  if (row.value("names", json::array()).empty()) row["names"] = old.first().value("names", json());
  return series;
}

/// Whether the cells of this field are equal, so that none is needed.
bool is_constant(const EntryField& field, const std::vector<const json*>& entries) {
  Legend unused;
  const std::string first = field.cell(*entries.front(), unused);
  return std::all_of(entries.begin(), entries.end(),
                     [&](const json* entry) { return field.cell(*entry, unused) == first; });
}

}  // namespace

void add_entries(Page& page, const std::vector<const json*>& entries, const Side& base,
                 const Side& updated, const std::vector<EntryField>& fields,
                 const Reasons& reasons) {
  static const std::vector<NamedResult> no_results;
  static const std::vector<std::pair<std::string, const Baseline*>> no_systems;
  FieldTable table;
  table.to_see_all = "--format markdown shows them";
  std::map<std::string, std::pair<const json*, std::string>> by_id;  // with its footnotes
  for (const json* entry : entries) {
    std::vector<std::string> marks;
    for (const std::string& reason : reasons(*entry))
      marks.push_back(table.legend.footnote(reason));
    by_id[entry->at("id")] = {entry, join(marks, " ")};
    table.rows.push_back(row_of_sides(entry->at("id"), base, updated));
  }
  std::vector<Field> own;  // what the document has of the entries
  std::vector<std::string> constants;
  const auto place = [&](const Series& series) { return by_id.at(text_of(series.first(), "id")); };
  for (const EntryField& field : fields) {
    Legend unused;
    if (field.if_varied && is_constant(field, entries))
      constants.push_back(field.title + " " + field.cell(*entries.front(), unused));
    else
      own.push_back({field.title, field.title, field.right, true, true, field.spare,
                     [&](const Series& series, Legend& legend) {
                       return field.cell(*place(series).first, legend);
                     }});
  }
  own.push_back({"note", "note", false, true, true, 0,
                 [&](const Series& series, Legend&) { return place(series).second; }});
  const auto all_fields = [&](const std::vector<Series>& rows, const Axes& axes) {
    std::vector<Field> columns = fields_of_case({no_results, rows, axes, no_systems});
    columns.insert(columns.end(), own.begin(), own.end());
    return columns;
  };
  const Axes axes = axes_of(table.rows, "");
  table.fields = all_fields(table.rows, axes);
  TableOptions options;
  options.markdown = page.markdown();
  if (several_benchmarks(table.rows) && too_wide(table, options))
    return add_benchmark_tables(page, no_results, table.rows, table, all_fields, constants,
                                options);
  table.constants = shared_by(table.rows, axes.constants, constants);
  add_field_table(page, no_results, table.rows, table, options);
}

}  // namespace assay
