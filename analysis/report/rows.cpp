#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "analysis/report/parts.hpp"
#include "analysis/trainings.hpp"
#include "core/base/text.hpp"

namespace assay::report {

using nlohmann::json;

std::size_t Strings::operator()(const std::string& text) {
  const auto [place, fresh] = places_.emplace(text, places_.size());
  if (fresh) list_.push_back(text);
  return place->second;
}

json columns_of(const json& records) {
  json columns;
  for (const json& record : records)
    for (const auto& [name, value] : record.items()) columns[name].push_back(value);
  return columns;
}

std::string status_of(const Series& series) {
  return series.published && (series.status == "ok" || rate_alone(series)) ? "published"
                                                                           : series.status;
}

void name_apart(json& curves, const std::vector<NamedResult>& results,
                const std::vector<const Series*>& series, const std::vector<std::string>& without) {
  // In the order in which people name them; a setting that speaks for itself stands without its
  // name.
  static const std::vector<std::string> plain{"system",     "benchmark", "problem",
                                              "collective", "direction", "transport",
                                              "algorithm",  "backend",   "precision"};
  std::vector<std::map<std::string, std::string>> texts;
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::set<std::size_t>> files;
  for (const Series* member : series) files[system_of(results, *member)].insert(member->result);
  for (const Series* member : series) {
    auto& mine = texts.emplace_back();
    mine = {{"system", system_of(results, *member)},
            {"benchmark", text_of(member->first(), "benchmark")},
            {"problem", is_collective(*member) ? "" : member->problem()}};
    for (const auto& [name, value] : member->first().at("parameters").items())
      if (name != "problem" && std::find(without.begin(), without.end(), name) == without.end())
        mine[name] = member->parameter(name);
    // Where the system does not tell the file.
    if (files[mine["system"]].size() > 1) mine["file"] = results[member->result].name;
    // Equal hashes are one environment, whatever its index.
    if (member->environment != series.front()->environment)
      mine["environment"] = text_of(member->first(), "environment");
    for (const auto& [name, text] : mine) values[name];
  }
  for (auto& [name, set] : values)
    for (auto& mine : texts) set.insert(mine[name]);
  std::vector<std::string> order = plain;
  for (const auto& [name, set] : values)
    if (std::find(plain.begin(), plain.end(), name) == plain.end()) order.push_back(name);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<std::string> apart, full, work;
    for (const std::string& name : order) {
      const std::string& text = texts[i][name];
      if (text.empty()) continue;
      const bool alone = std::find(plain.begin(), plain.end(), name) != plain.end();
      full.push_back(alone ? text : name + " " + text);
      if (values[name].size() > 1) apart.push_back(full.back());
      if (alone && name != "system" && name != "benchmark") work.push_back(text);
    }
    // A curve alone is called by its work.
    curves[i]["full"] = join(full, " ");
    curves[i]["name"] = join(apart.empty() ? work : apart, " ");
  }
}

namespace {

/// A word that a shell takes as it is: what comes from a file must not run when it is pasted.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-.,/:@%+=").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

json worst_of(const Series& series, const char* field) {
  json worst;
  if (series.status != "ok") return worst;
  for (const json& row : series.rows) {
    const json verification = row.value("verification", json());
    const json value = verification.is_object() ? verification.value(field, json()) : json();
    if (value.is_number() && (worst.is_null() || value > worst)) worst = value;
  }
  return worst;
}

/// A number of time_s of a single launch: samples of several launches are never pooled.
json time_number(const Series& series, const char* field) {
  if (series.status != "ok" || series.rows.size() != 1) return nullptr;
  return series.first().at("time_s").value(field, json());
}

json ceiling_fraction(const Series& series) {
  const json ceiling = series.first().value("ceiling", json());
  return series.status == "ok" && ceiling.is_object() ? ceiling.value("fraction", json()) : json();
}

std::string host_of(const NamedResult& named, const json& row) {
  const json& all = named.result.at("environments");
  const std::size_t index = row.at("environment");
  return index < all.size() ? all[index].at("host").get<std::string>() : "";
}

/// The parameters that have no column of their own, in the order of their names.
std::set<std::string> further_parameters(const std::vector<Series>& all) {
  std::set<std::string> names;
  for (const Series& series : all)
    for (const auto& [name, value] : series.first().at("parameters").items()) names.insert(name);
  for (const char* own : {"problem", "direction", "precision", "backend", "algorithm"})
    names.erase(own);
  return names;
}

struct Text {
  const char* key;
  std::string value;
};
struct Number {
  const char* key;
  json value;
};

}  // namespace

std::string repeat_command(const json& result, const json& row) {
  if (row.value("published", false)) return "";
  const json& run = result.at("run");
  std::vector<std::string> words;
  if (const json launcher = run.value("launcher", json());
      launcher.is_array() && !launcher.empty()) {
    for (const json& word : launcher)
      if (word.is_string()) words.push_back(shell_word(word.get<std::string>()));
  } else if (const json ranks = row.at("parameters").value("ranks", json());
             ranks.is_number() && ranks > 1) {
    words = {"mpirun", "-n", ranks.dump()};
  }
  std::string program = "assay-" + row.at("benchmark").get<std::string>();
  std::replace(program.begin(), program.end(), '_', '-');
  words.push_back(shell_word(program));
  // A benchmark whose cases have no problem (a collective has a size) has no such flag: the id
  // names every dimension.
  const std::string descriptor = row.at("problem").at("descriptor");
  if (row.at("id").get<std::string>().find("/" + descriptor) != std::string::npos)
    words.insert(words.end(), {"--problem", shell_word(descriptor)});
  for (const auto& [name, value] : row.at("parameters").items()) {
    // The launcher sets ranks and nodes.
    if (value.is_null() || name == "ranks" || name == "nodes" || name == "problem") continue;
    words.insert(words.end(),
                 {shell_word("--" + name),
                  shell_word(value.is_string() ? value.get<std::string>() : value.dump())});
  }
  if (const json seed = run.value("seed", json()); seed.is_number())
    words.insert(words.end(), {"--seed", seed.dump()});
  if (const json most = run.value("max_time", json()); most.is_number())
    words.insert(words.end(), {"--max-time", most.dump()});
  return join(words, " ");
}

namespace {

/// What stands for a fleet has its numbers, and none that only one node has.
using FleetRows = std::map<std::pair<std::size_t, std::string>, const FleetRow*>;

const FleetRow* fleet_row(const FleetRows& fleet, const Series& series) {
  if (fleet.empty()) return nullptr;
  const auto found = fleet.find({series.result, series.first().at("id").get<std::string>()});
  return found == fleet.end() ? nullptr : found->second;
}

std::string host_text(const NamedResult& from, const Series& series, const FleetRow* fleet) {
  if (fleet == nullptr) return host_of(from, series.first());
  if (fleet->nodes == 0) return fmt::format("{} nodes", fleet->of);
  return fleet->nodes == fleet->of
             ? fmt::format("median of {} nodes", fleet->of)
             : fmt::format("median of {} of {} nodes", fleet->nodes, fleet->of);
}

void adopt_numbers(std::vector<Number>& numbers, const FleetRow& fleet) {
  for (auto& [key, value] : numbers) {
    const std::string_view name = key;
    if (name == "launches") value = fleet.launches;
    if (name == "samples" || name == "min" || name == "p95" || name == "p99" || name == "energy")
      value = nullptr;
    if (name == "max_error" && value.is_number()) value = fleet.max_error;
    if (name == "error_over_bound" && value.is_number()) value = fleet.error_over_bound;
  }
}

std::vector<Text> texts_of(const NamedResult& from, const Series& series, const FleetRow* fleet,
                           const Trainings& trainings) {
  const json& row = series.first();
  return {
      {"system", from.result.at("system").at("name")},
      {"file", from.name},
      {"host", host_text(from, series, fleet)},
      {"id", row.at("id")},
      {"benchmark", row.at("benchmark")},
      {"problem", series.problem()},
      {"direction", series.parameter("direction")},
      {"precision", series.parameter("precision")},
      {"backend", series.parameter(series.parameter("backend").empty() ? "transport" : "backend")},
      {"algorithm", series.algorithm()},
      {"status", status_of(series)},
      {"required", lacks_required(series) ? "required" : ""},
      {"mark", mark_of(series)},
      {"reason", series.status == "ok" ? "" : series.reason},
      {"energy_domains", energy_domains(series)},
      {"convergence", trainings.text(series)},
      {"repeat", repeat_command(from.result, row)},
  };
}

std::vector<Number> numbers_of(const Series& series) {
  const bool ok = series.status == "ok";
  return {
      {"median", ok ? json(series.median) : json()},
      {"low", ok && series.has_interval ? json(series.interval.low) : json()},
      {"high", ok && series.has_interval ? json(series.interval.high) : json()},
      {"range", ok && series.is_range ? 1 : 0},
      {"launches", series.published ? json() : json(series.rows.size())},
      {"samples", time_number(series, "n")},
      {"min", time_number(series, "min")},
      {"p95", time_number(series, "p95")},
      {"p99", time_number(series, "p99")},
      {"flops_per_s", rate_of(series, "flops_per_s")},
      {"bytes_per_s", rate_of(series, "bytes_per_s")},
      {"images_per_s", rate_of(series, "images_per_s")},
      {"busbw", rate_of(series, "busbw")},
      {"fraction", ceiling_fraction(series)},
      {"max_error", worst_of(series, "max_error")},
      {"error_over_bound", worst_of(series, "error_over_bound")},
      {"energy", energy_of(series)},
      {"published", series.published ? 1 : 0},
  };
}

}  // namespace

json rows_part(const std::vector<NamedResult>& results, const std::vector<Series>& all,
               const FleetSummary& fleet, Strings& strings) {
  FleetRows fleet_rows;
  for (const FleetRow& row : fleet.rows) fleet_rows[{row.result, row.id}] = &row;
  json columns = json::array(), texts = json::array(), values = json::array();
  const std::set<std::string> parameters = further_parameters(all);
  const Trainings trainings(results);
  for (const Series& series : all) {
    const FleetRow* const of_fleet = fleet_row(fleet_rows, series);
    const std::vector<Text> words = texts_of(results[series.result], series, of_fleet, trainings);
    std::vector<Number> numbers = numbers_of(series);
    if (of_fleet != nullptr && of_fleet->nodes > 0) adopt_numbers(numbers, *of_fleet);
    if (columns.empty()) {
      for (const Text& word : words) columns.push_back(word.key), texts.push_back(word.key);
      for (const std::string& name : parameters) {
        columns.push_back("parameter/" + name);
        texts.push_back("parameter/" + name);
      }
      for (const Number& number : numbers) columns.push_back(number.key);
    }
    json line = json::array();
    for (const Text& word : words) line.push_back(strings(word.value));
    for (const std::string& name : parameters) line.push_back(strings(series.parameter(name)));
    for (const Number& number : numbers) line.push_back(number.value);
    values.push_back(std::move(line));
  }
  if (values.empty()) return nullptr;
  return {{"columns", columns}, {"texts", texts}, {"parameters", parameters}, {"values", values}};
}

json counts_part(const std::vector<Series>& all) {
  json counts = {{"rows", all.size()}, {"published", 0}};
  for (const char* status : row_statuses) counts[status] = 0;
  for (const Series& series : all) {
    json& count = counts[status_of(series)];
    count = count.get<std::size_t>() + 1;
  }
  return counts;
}

json speedups_part(const std::vector<Series>& all, const std::vector<Baseline>& baselines,
                   Strings& strings) {
  json list = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!has_time(all[i]) && !rate_alone(all[i])) continue;
    std::vector<json> matches;
    if (baselines.empty()) {
      for (const json& row : all[i].rows)
        if (const json own = row.value("baseline", json()); own.is_object() && matches.empty())
          matches.push_back(own);
    } else {
      json row = all[i].first();
      if (has_time(all[i])) row["time_s"]["median"] = all[i].median;
      for (const Baseline& baseline : baselines)
        if (const json match = baseline.match(row); match.is_object()) matches.push_back(match);
    }
    for (const json& match : matches) {
      const double value = match.at("value");
      // The ratio is to the time shown, not to that of the first launch; where the other system has
      // a rate, or its source a ratio of its own, it is the one found.
      const bool by_time = match.at("unit") == "s" && !match.contains("ratio_printed");
      const json speedup = by_time ? json(value / all[i].median) : match.at("speedup");
      list.push_back({{"row", i},
                      {"system", strings(match.at("system"))},
                      {"value", value},
                      {"unit", strings(match.at("unit"))},
                      {"speedup", speedup},
                      {"published", match.at("published")},
                      {"projection", match.value("projection", false) ? 1 : 0},
                      {"not_given", match.contains("not_given") ? 1 : 0},
                      {"citation", strings(text_of(match, "citation"))},
                      {"algorithm", strings(text_of(match, "algorithm"))},
                      {"note", strings(text_of(match, "note"))}});
    }
  }
  return columns_of(list);
}

}  // namespace assay::report
