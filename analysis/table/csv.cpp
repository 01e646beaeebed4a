// A line for each series and each number that stands beside it. One shape whatever the options, so
// that a script reads one column whatever was asked for.
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/table/cells.hpp"
#include "analysis/table/crossed.hpp"
#include "analysis/table/pivot.hpp"
#include "analysis/table/table.hpp"
#include "analysis/text_table.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The shortest text that reads back as the same number.
std::string digits(double value) { return json(value).dump(); }

class Csv {
 public:
  Csv(const std::vector<NamedResult>& results, const std::vector<Series>& all) : results_(results) {
    std::set<std::string> names;
    for (const Series& series : all)
      for (const auto& [name, value] : series.first().at("parameters").items()) names.insert(name);
    parameters_.assign(names.begin(), names.end());
  }

  /// `match` is null where nothing stands beside it; `why` then says why, if something was looked
  /// for.
  void add(const Series& series, const std::string& against, const json& match,
           const std::string& why) {
    const Quantity mine = quantity_of(series);
    const bool ok = !mine.unit.empty();
    const json& row = series.first();
    Line line;
    const auto put = [&](const std::string& text) { line.cells.push_back(text); };
    put(results_[series.result].name);
    put(text_of(results_[series.result].result.at("system"), "name"));
    put(text_of(row, "id"));
    put(text_of(row, "benchmark"));
    put(text_of(row.at("problem"), "descriptor"));
    for (const std::string& name : parameters_) put(series.parameter(name));
    put(status_of(series));
    put(ok ? "" : series.reason);
    put(series.published ? "true" : "false");
    put(any_shared(series) ? "true" : "false");
    put(std::to_string(series.rows.size()));
    put(ok ? digits(mine.value) : "");
    put(mine.unit);
    put(series.has_interval ? digits(series.interval.low) : "");
    put(series.has_interval ? digits(series.interval.high) : "");
    put(!series.has_interval ? "" : series.is_range ? "range" : "95 %");
    const json verification = row.value("verification", json());
    const bool checked = ok && verification.is_object() && verification.at("max_error").is_number();
    put(checked ? digits(verification["max_error"]) : "");
    put(against);
    const bool beside = match.is_object();
    put(beside ? digits(match.at("value")) : "");
    put(beside ? text_of(match, "unit") : "");
    put(beside ? (match.at("published") == true ? "true" : "false") : "");
    put(beside && match.at("speedup") > 0 ? digits(match.at("speedup")) : "");
    // As the crossed tables show it, and as sources print it: this over the other.
    put(beside && match.at("speedup") > 0 ? digits(1 / match.at("speedup").get<double>()) : "");
    put(beside ? text_of(match, "ratio_printed") : "");
    put(beside ? text_of(match, "note") : why);
    put(beside ? text_of(match, "citation") : text_of(row, "citation"));
    lines_.push_back(std::move(line));
  }

  std::string text() const {
    std::vector<Column> columns{{"result"}, {"system"}, {"id"}, {"benchmark"}, {"problem"}};
    for (const std::string& name : parameters_) columns.push_back({"parameter " + name});
    for (const char* name :
         {"status",    "reason",  "published",     "shared",       "launches",
          "value",     "unit",    "low",           "high",         "interval",
          "max_error", "against", "against_value", "against_unit", "against_published",
          "speedup",   "ratio",   "ratio_printed", "note",         "citation"})
      columns.push_back({name});
    return csv_table(columns, lines_);
  }

 private:
  const std::vector<NamedResult>& results_;
  std::vector<std::string> parameters_;
  std::vector<Line> lines_;
};

void add_pivot(Csv& csv, const std::vector<Series>& all, const std::string& by) {
  const Pivot pivot = pivot_of(all, by);
  for (const PivotLine& line : pivot.lines)
    for (const auto& [value, series] : line.series) {
      std::string why;
      const json match = beside_first(line, pivot, *series, by, &why);
      csv.add(*series, value == pivot.values.front() ? "" : by + " " + pivot.values.front(), match,
              why);
    }
}

}  // namespace

std::string render_csv(const std::vector<NamedResult>& given,
                       const std::vector<Baseline>& baselines, const std::string& by) {
  const std::vector<NamedResult> results = prepared(given, by);
  const std::vector<Series> all = series_of(results);
  Csv csv(results, all);
  if (!by.empty() && !baselines.empty()) {
    const Crossed crossed = cross(results, all, baselines, by);
    for (const CrossedLine& line : crossed.lines)
      for (std::size_t i = 0; i < line.matches.size(); ++i)
        csv.add(*line.series, crossed.columns[i].system + " " + by + " " + crossed.columns[i].value,
                line.matches[i], line.why[i]);
    return csv.text();
  }
  if (!by.empty()) {
    axes_of(all, by);  // refuses what no row has
    add_pivot(csv, all, by);
    return csv.text();
  }
  const auto systems = systems_of(all, baselines);
  for (const Series& series : all) {
    if (systems.empty()) csv.add(series, "", nullptr, "");
    for (const auto& [system, baseline] : systems) {
      std::string why;
      const json match = beside(series, baseline, system, &why);
      csv.add(series, system, match, why);
    }
  }
  return csv.text();
}

}  // namespace assay
