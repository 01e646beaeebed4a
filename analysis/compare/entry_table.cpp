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

/// Columns of the rows of entries: what was run, then the fields, then the footnotes.
class EntryColumns {
 public:
  /// The reasons become footnotes of `legend`.
  EntryColumns(const std::vector<const json*>& entries, const std::vector<EntryField>& fields,
               const Reasons& reasons, Legend& legend) {
    for (const json* entry : entries) {
      const std::string id = entry->at("id");
      std::vector<std::string> marks;
      for (const std::string& reason : reasons(*entry)) marks.push_back(legend.footnote(reason));
      footnotes_[id] = join(marks, " ");
      by_id_[id] = entry;
    }
    for (const EntryField& field : fields) {
      Legend unused;
      if (field.if_varied && is_constant(field, entries))
        constants_.push_back(field.title + " " + field.cell(*entries.front(), unused));
      else
        fields_.push_back(&field);
    }
  }

  /// Of fields that no column tells.
  const std::vector<std::string>& constants() const { return constants_; }

  std::vector<Field> operator()(const std::vector<Series>& rows, const Axes& axes) const {
    static const std::vector<NamedResult> no_results;
    static const std::vector<std::pair<std::string, const Baseline*>> no_systems;
    std::vector<Field> columns = fields_of_case({no_results, rows, axes, no_systems});
    const auto add = [&](const std::string& title, bool right, int spare, auto cell) {
      columns.push_back({title, title, right, true, true, spare, cell});
    };
    for (const EntryField* field : fields_)
      add(field->title, field->right, field->spare,
          [this, field](const Series& series, Legend& legend) {
            return field->cell(entry_of(series), legend);
          });
    add("note", false, 0, [this](const Series& series, Legend&) {
      return footnotes_.at(text_of(series.first(), "id"));
    });
    return columns;
  }

 private:
  const json& entry_of(const Series& series) const {
    return *by_id_.at(text_of(series.first(), "id"));
  }

  std::map<std::string, const json*> by_id_;
  std::map<std::string, std::string> footnotes_;
  std::vector<const EntryField*> fields_;
  std::vector<std::string> constants_;
};

}  // namespace

std::string entry_table(const std::vector<const json*>& entries, const Side& base,
                        const Side& updated, const std::vector<EntryField>& fields,
                        const Reasons& reasons, bool markdown) {
  static const std::vector<NamedResult> no_results;
  FieldTable table;
  const EntryColumns columns(entries, fields, reasons, table.legend);
  table.to_see_all = "--format markdown shows them";
  for (const json* entry : entries)
    table.rows.push_back(row_of_sides(entry->at("id"), base, updated));
  const Axes axes = axes_of(table.rows, "");
  table.fields = columns(table.rows, axes);
  TableOptions options;
  options.markdown = markdown;
  if (several_benchmarks(table.rows) && too_wide(table, options))
    return benchmark_tables(no_results, table.rows, table, std::cref(columns), columns.constants(),
                            options);
  table.constants = shared_by(table.rows, axes.constants, columns.constants());
  return field_table(no_results, table.rows, table, options);
}

}  // namespace assay
