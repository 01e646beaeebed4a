
#include <algorithm>
#include <set>

#include "analysis/burn_summary.hpp"
#include "analysis/evidence.hpp"
#include "analysis/repeat_command.hpp"
#include "analysis/report/parts.hpp"
#include "analysis/trainings.hpp"
#include "core/base/numbers.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

namespace assay::report {

using nlohmann::json;

std::string describe_status(const Series& series) {
  return series.published && (series.status == "ok" || rate_alone(series)) ? "published"
                                                                           : series.status;
}

void name_apart(json& curves, const Results& results, const std::vector<const Series*>& series,
                const std::vector<std::string>& without) {
  // In the order in which people name them. A setting that explains itself is shown without its
  // name.
  static const std::vector<std::string> plain{"system",     "benchmark", "problem",
                                              "collective", "direction", "transport",
                                              "algorithm",  "backend",   "precision"};
  const auto is_in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::map<std::string, std::set<std::size_t>> files;
  for (const Series* member : series) files[name_system(results, *member)].insert(member->result);
  std::map<std::string, std::vector<std::string>> texts;  // of each property, by curve
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Series& member = *series[i];
    const Row& row = member.first();
    const std::string system = name_system(results, member);
    const auto set = [&](const std::string& name, const std::string& text) {
      texts.try_emplace(name, series.size()).first->second[i] = text;
    };
    set("system", system);
    set("benchmark", row.benchmark);
    for (const auto& [name, value] : row.parameters)
      if (!is_in(without, name)) set(name, row.parameter(name));
    set("problem", is_collective(member) ? "" : member.problem());
    // Needed if the system does not identify the file.
    if (files[system].size() > 1) set("file", results[member.result].name);
    // Equal hashes are one environment, whatever its index.
    if (member.environment != series.front()->environment)
      set("environment", std::to_string(row.environment));
  }
  std::vector<std::string> order = plain;
  for (const auto& [name, values] : texts)
    if (!is_in(plain, name)) order.push_back(name);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::vector<std::string> apart, full, work;
    for (const std::string& name : order) {
      const std::vector<std::string>& values = texts[name];
      if (values.empty() || values[i].empty()) continue;
      const bool is_plain = is_in(plain, name);
      full.push_back(is_plain ? values[i] : name + " " + values[i]);
      if (std::count(values.begin(), values.end(), values[i]) < std::ssize(series))
        apart.push_back(full.back());
      if (is_plain && name != "system" && name != "benchmark") work.push_back(values[i]);
    }
    // If there is only one curve, its name is its work.
    curves[i]["full"] = join(full, " ");
    curves[i]["name"] = join(apart.empty() ? work : apart, " ");
  }
}

namespace {

/// The largest error of the launches.
json find_worst(const Series& series, std::optional<double> RowVerification::*error) {
  std::optional<double> worst;
  if (series.status == "ok")
    for (const Row& row : series.rows)
      if (row.verification) worst = std::max(worst, (*row.verification).*error);
  return number_or_null(worst);
}

/// The parameters that have no column of their own, in the order of their names.
std::set<std::string> further_parameters(const SeriesList& all) {
  std::set<std::string> names;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().parameters) names.insert(name);
  for (const char* own : {"problem", "direction", "precision", "backend", "algorithm"})
    names.erase(own);
  return names;
}

/// Text about the burn-in of all launches together; "" if there is none.
std::string describe_burn(const Series& series) {
  BurnTotals totals;
  for (const Row& row : series.rows)
    if (row.burn) totals.add(row, "");
  const std::vector<BurnTotal> all = totals.take();
  return all.empty() ? "" : summarize_burn(all.front());
}

std::string size_or_none(const std::optional<double>& bytes) {
  return bytes > 0 ? format_size(*bytes) : "";
}

/// A column of the table of rows, and its value for a row: texts are strings, all other values are
/// numbers.
using Field = std::pair<std::string, json>;

std::vector<Field> make_fields(const Results& results, const Series& series,
                               const std::set<std::string>& parameters,
                               const Trainings& trainings) {
  const NamedResult& file = results[series.result];
  const Row& row = series.first();
  const bool ok = series.status == "ok";
  const std::string by = series.parameter("backend").empty() ? "transport" : "backend";
  const auto if_ok = [](bool known, auto value) { return known ? json(value) : json(); };
  // Samples of several launches are never pooled.
  const RowTime time = ok && series.rows.size() == 1 ? row.time_s.value_or(RowTime()) : RowTime();
  std::vector<Field> fields{
      {"system", file.system()},
      {"file", file.name},
      {"host", file.environment(row).host},
      {"id", row.id},
      {"benchmark", row.benchmark},
      {"problem", series.problem()},
      {"direction", series.parameter("direction")},
      {"precision", series.parameter("precision")},
      {"backend", series.parameter(by)},
      {"algorithm", series.algorithm()},
      {"status", describe_status(series)},
      {"required", lacks_required(series) ? "required" : ""},
      {"mark", choose_mark(series)},
      {"reason", ok ? "" : series.reason},
      {"energy_domains", energy_domains(series)},
      {"convergence", trainings.text(series)},
      {"burn", describe_burn(series)},
      {"message", is_collective(series) ? size_or_none(parse_number(series.problem())) : ""},
      {"bytes_text", size_or_none(parse_number(series.parameter("bytes")))},
      {"repeat", make_repeat_command(file.run(), file.environment(row), row, series.rows.size())},
      {"median", if_ok(ok, series.median)},
      {"low", if_ok(ok && series.has_interval, series.interval.low)},
      {"high", if_ok(ok && series.has_interval, series.interval.high)},
      {"range", ok && series.is_range ? 1 : 0},
      {"launches", if_ok(!series.published, series.rows.size())},
      {"samples", if_ok(time.n.has_value(), time.n.value_or(0))},
      {"p95", number_or_null(time.p95)},
      {"p99", number_or_null(time.p99)},
      {"fraction", number_or_null(ok ? ceiling_fraction(series) : std::nullopt)},
      {"exceeded", ok && exceeds_ceiling(series) ? 1 : 0},
      {"max_error", find_worst(series, &RowVerification::max_error)},
      {"error_over_bound", find_worst(series, &RowVerification::error_over_bound)},
      {"energy", number_or_null(compute_energy(series))},
      {"published", series.published ? 1 : 0}};
  for (const char* rate : {"flops_per_s", "bytes_per_s", "images_per_s", "busbw"})
    fields.emplace_back(rate, number_or_null(find_rate(series, rate)));
  for (const std::string& name : parameters)
    fields.emplace_back("parameter/" + name, series.parameter(name));
  return fields;
}

}  // namespace

json make_rows_part(const Results& results, const SeriesList& all, const FleetSummary& fleet) {
  // The values of a row that represents a fleet. If the row has no value for a column, the fleet
  // has none either.
  std::map<std::pair<std::size_t, std::string>, const json*> fleet_values;
  for (const FleetRow& row : fleet.rows) fleet_values[{row.result, row.id}] = &row.values;
  json rows = json::array();
  const std::set<std::string> parameters = further_parameters(all);
  const Trainings trainings(results);
  for (const Series& series : all) {
    const auto common = fleet_values.find({series.result, series.first().id});
    json& row = rows.emplace_back();
    for (auto& [name, value] : make_fields(results, series, parameters, trainings))
      row[name] = common == fleet_values.end() || value.is_null()
                      ? value
                      : common->second->value(name, value);
  }
  return rows.empty() ? json() : rows;
}

std::map<std::string, std::size_t> count_rows(const SeriesList& all, const FleetSummary& fleet) {
  // The rows of a fleet's nodes that are not shown individually.
  std::map<std::string, std::size_t> counts{
      {"ok", fleet.verified}, {"unsupported", fleet.unsupported}, {"published", 0}};
  for (const char* status : row_statuses) counts[status] += 0;
  for (const Series& series : all) {
    ++counts[describe_status(series)];
    if (const std::string mark = choose_mark(series); series.status == "ok" && !mark.empty())
      ++counts[mark == shared_mark      ? "disturbed"
               : mark == throttled_mark ? "throttled"
                                        : "oversubscribed"];
  }
  counts["rows"] = all.size() + fleet.verified + fleet.unsupported;
  return counts;
}

json make_speedups_part(const SeriesList& all, const std::vector<Baseline>& baselines) {
  json list = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_time(all[i]) && !rate_alone(all[i])) continue;
    std::vector<std::optional<RowBaseline>> matches;
    Row row = all[i].first();
    if (has_time(all[i])) row.time_s->median = all[i].median;
    for (const Baseline& baseline : baselines) matches.push_back(baseline.match(row));
    if (baselines.empty())
      if (const auto own = std::find_if(all[i].rows.begin(), all[i].rows.end(),
                                        [](const Row& launch) { return launch.baseline; });
          own != all[i].rows.end())
        matches.emplace_back(*(*own)->baseline);
    for (const std::optional<RowBaseline>& match : matches) {
      if (!match) continue;
      // The ratio uses the displayed time, not that of the first launch. If the other system has a
      // rate, or its source prints a ratio, the ratio of the match is used.
      const bool by_time = match->unit == "s" && match->ratio_printed.empty();
      list.push_back({{"row", i},
                      {"value", match->value},
                      {"speedup", by_time ? match->value / all[i].median : match->speedup},
                      {"published", match->published},
                      {"projection", match->projection ? 1 : 0},
                      {"not_given", match->not_given.empty() ? 0 : 1},
                      {"system", match->system},
                      {"value_text", match->unit == "s" ? format_seconds(match->value)
                                                        : format_rate(match->unit, match->value)},
                      {"citation", match->citation},
                      {"note", match->note}});
    }
  }
  return list.empty() ? json() : list;
}

}  // namespace assay::report
