// A record for each series and each number that stands beside it, as CSV or JSON. One shape
// whatever the options, so that a script reads one field whatever was asked for.
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "analysis/page.hpp"
#include "analysis/table/axes.hpp"
#include "analysis/table/cells.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/precision_table.hpp"
#include "analysis/table/rate_cells.hpp"
#include "analysis/table/table.hpp"
#include "analysis/trainings.hpp"
#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// What records are made of. The results outlive it.
struct RecordSource {
  explicit RecordSource(const std::vector<NamedResult>& from) : results(from), trainings(from) {}
  const std::vector<NamedResult>& results;
  Trainings trainings;
};

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }
json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// What a row executed and what it cost, whatever stands beside it.
json measured_fields(const Series& series) {
  const bool ok = status_of(series) == "ok";
  const json executed = series.first().value("executed", json());
  const auto type = [&](const char* field) {
    return ok && executed.is_object() ? text_or_null(text_of(executed, field)) : json();
  };
  return {{"max_error", ok ? number_or_null(largest_error(series)) : json()},
          {"norm_error", ok ? number_or_null(largest_norm_error(series)) : json()},
          {"storage", type("storage")},
          {"compute", type("compute")},
          {"accumulate", type("accumulate")},
          {"executed_precision", ok ? text_or_null(executed_precision(series)) : json()},
          {"ceiling_fraction", ok ? number_or_null(ceiling_fraction(series)) : json()},
          {"energy_j", ok ? energy_of(series) : json()}};
}

/// `match` is null where nothing stands beside the series; `why` then says why, if something was
/// looked for.
json record(const RecordSource& source, const Series& series, const std::string& against,
            const json& match, const std::string& why) {
  const json& row = series.first();
  const Quantity mine = quantity_of(series);
  const bool ok = !mine.unit.empty(), beside = match.is_object();
  const bool interval = series.has_interval;
  const bool compared = beside && match.at("speedup") > 0;
  json all = {
      {"result", source.results[series.result].name},
      {"system", system_of(source.results, series)},
      {"id", text_of(row, "id")},
      {"benchmark", text_of(row, "benchmark")},
      {"problem", text_of(row.at("problem"), "descriptor")},
      {"parameters", row.at("parameters")},
      {"status", status_of(series)},
      {"reason", ok ? json() : json(series.reason)},
      {"published", series.published},
      {"shared", any_launch(series, was_shared)},
      {"throttled", any_launch(series, was_throttled)},
      {"launches", series.rows.size()},
      {"value", ok ? json(mine.value) : json()},
      {"unit", text_or_null(mine.unit)},
      {"low", interval ? json(series.interval.low) : json()},
      {"high", interval ? json(series.interval.high) : json()},
      {"interval", interval ? json(series.is_range ? "range" : "95 %") : json()},
      {"against", text_or_null(against)},
      {"against_value", beside ? match.at("value") : json()},
      {"against_unit", beside ? match.at("unit") : json()},
      {"against_published", beside ? json(match.at("published") == true) : json()},
      {"speedup", compared ? match.at("speedup") : json()},
      // As the crossed tables show it, and as sources print it: this over the other.
      {"ratio", compared ? json(1 / match.at("speedup").get<double>()) : json()},
      {"ratio_printed", beside ? text_or_null(text_of(match, "ratio_printed")) : json()},
      {"note", text_or_null(beside ? text_of(match, "note") : why)},
      {"citation", text_or_null(beside ? text_of(match, "citation") : text_of(row, "citation"))},
      {"speedup_low", nullptr},
      {"speedup_high", nullptr},
      {"speedup_interval", nullptr},
      {"energy_ratio", nullptr},
      {"step_hash", text_or_null(source.trainings.step_hash(series))},
      {"convergence", text_or_null(source.trainings.text(series))}};
  all.update(measured_fields(series));
  return all;
}

json precision_record(const RecordSource& source, const PrecisionRow& row) {
  const Series& series = *row.series;
  const bool beside = !row.is_reference() && row.speedup;
  const Quantity base = row.fp32 == nullptr ? Quantity{} : quantity_of(*row.fp32);
  const json match = {{"value", base.value},
                      {"unit", base.unit},
                      {"published", row.fp32 != nullptr && row.fp32->published},
                      {"speedup", beside ? row.speedup->value : 0},
                      {"note", row.note}};
  json all = record(source, series, row.is_reference() ? "" : "precision fp32",
                    beside ? match : json(), row.note);
  if (row.speedup && row.speedup->interval) {
    all["speedup_low"] = row.speedup->interval->low;
    all["speedup_high"] = row.speedup->interval->high;
    all["speedup_interval"] = row.speedup->is_range ? "range" : "95 %";
  }
  if (row.energy) all["energy_ratio"] = row.energy->value;
  return all;
}

json precision_records(const RecordSource& source, const std::vector<Series>& chosen, bool sorted) {
  axes_of(chosen, "precision");  // refuses rows without the parameter
  const std::vector<Series> every = series_of(source.results);
  json records = json::array();
  for (const PrecisionGroup& group : chosen_groups(every, chosen, sorted))
    for (const PrecisionRow& row : group) records.push_back(precision_record(source, row));
  return records;
}

json pivot_records(const RecordSource& source, const std::vector<Series>& all,
                   const std::string& by) {
  axes_of(all, by);  // refuses a parameter that no row has
  json records = json::array();
  const Pivot pivot = pivot_of(source.results, all, by);
  for (const PivotLine& line : pivot.lines)
    for (const auto& [value, series] : line.series) {
      std::string why;
      const json match = beside_first(line, pivot, *series, by, &why);
      records.push_back(record(source, *series,
                               value == pivot.values.front() ? "" : by + " " + pivot.values.front(),
                               match, why));
    }
  return records;
}

json crossed_records(const RecordSource& source, const std::vector<Series>& all,
                     const std::vector<Baseline>& baselines, const std::string& by) {
  json records = json::array();
  const Crossed crossed = cross(source.results, all, baselines, by);
  for (const CrossedLine& line : crossed.lines)
    for (std::size_t i = 0; i < line.matches.size(); ++i)
      records.push_back(
          record(source, *line.series,
                 crossed.columns[i].system + " " + by + " " + crossed.columns[i].value,
                 line.matches[i], line.why[i]));
  return records;
}

json row_records(const RecordSource& source, const std::vector<Series>& all,
                 const std::vector<Baseline>& baselines) {
  json records = json::array();
  const auto systems = systems_of(all, baselines);
  for (const Series& series : all) {
    if (systems.empty()) records.push_back(record(source, series, "", nullptr, ""));
    for (const auto& [system, baseline] : systems) {
      std::string why;
      const json match = beside(series, baseline, system, &why);
      records.push_back(record(source, series, system, match, why));
    }
  }
  return records;
}

json records_of(const RecordSource& source, const std::vector<Series>& all,
                const std::vector<Baseline>& baselines, const TableOptions& options) {
  const std::string& by = options.by;
  if (by.empty()) return row_records(source, all, baselines);
  if (baselines.empty() && by == "precision")
    return precision_records(source, all, !options.sort.empty());
  if (baselines.empty()) return pivot_records(source, all, by);
  return crossed_records(source, all, baselines, by);
}

}  // namespace

json table_document(std::vector<NamedResult> given, const std::vector<Baseline>& baselines,
                    const TableOptions& options) {
  const std::vector<NamedResult> results = prepared(std::move(given), options.by);
  return {
      {"schema", "assay-table/1"},
      {"rows", records_of(RecordSource(results), selected(results, options), baselines, options)}};
}

std::string render_csv(std::vector<NamedResult> given, const std::vector<Baseline>& baselines,
                       const TableOptions& options) {
  const std::vector<NamedResult> results = prepared(std::move(given), options.by);
  const std::vector<Series> all = selected(results, options);
  std::vector<json> records = records_of(RecordSource(results), all, baselines, options);
  std::set<std::string> parameters;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().at("parameters").items())
      parameters.insert(name);
  std::vector<std::string> fields{"result", "system", "id", "benchmark", "problem"};
  for (const std::string& name : parameters) {
    fields.push_back("parameter " + name);
    for (json& record : records) record[fields.back()] = text_of(record.at("parameters"), name);
  }
  for (const std::string& field : split(
           "status reason published shared launches value unit low high interval max_error "
           "against against_value against_unit against_published speedup ratio ratio_printed note "
           "citation norm_error storage compute accumulate executed_precision ceiling_fraction "
           "energy_j speedup_low speedup_high speedup_interval energy_ratio step_hash convergence "
           "throttled",
           ' '))
    fields.push_back(field);
  return csv_of(fields, records);
}

}  // namespace assay
