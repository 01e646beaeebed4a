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
  const auto is_plain = [](const std::string& name) {
    return std::find(plain.begin(), plain.end(), name) != plain.end();
  };
  std::map<std::string, std::set<std::size_t>> files;
  for (const Series* member : series) files[system_of(results, *member)].insert(member->result);
  std::map<std::string, std::vector<std::string>> texts;  // of each property, by curve
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Series& member = *series[i];
    const std::string system = system_of(results, member);
    const auto set = [&](const std::string& name, const std::string& text) {
      texts.try_emplace(name, series.size()).first->second[i] = text;
    };
    set("system", system);
    set("benchmark", text_of(member.first(), "benchmark"));
    for (const auto& [name, value] : member.first().at("parameters").items())
      if (std::find(without.begin(), without.end(), name) == without.end())
        set(name, member.parameter(name));
    set("problem", is_collective(member) ? "" : member.problem());
    // Needed if the system does not tell the file.
    if (files[system].size() > 1) set("file", results[member.result].name);
    // Equal hashes are one environment, whatever its index.
    if (member.environment != series.front()->environment)
      set("environment", text_of(member.first(), "environment"));
  }
  std::vector<std::string> order = plain;
  for (const auto& [name, values] : texts)
    if (!is_plain(name)) order.push_back(name);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::vector<std::string> apart, full, work;
    for (const std::string& name : order) {
      const auto found = texts.find(name);
      if (found == texts.end() || found->second[i].empty()) continue;
      const std::string& text = found->second[i];
      full.push_back(is_plain(name) ? text : name + " " + text);
      if (std::count(found->second.begin(), found->second.end(), text) < std::ssize(series))
        apart.push_back(full.back());
      if (is_plain(name) && name != "system" && name != "benchmark") work.push_back(text);
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

json ceiling_fraction(const Series& series) {
  const json ceiling = series.first().value("ceiling", json());
  return series.status == "ok" && ceiling.is_object() ? ceiling.value("fraction", json()) : json();
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

/// A column of the table of rows, and its value in a row: texts are strings, all else is a number.
using Field = std::pair<std::string, json>;

std::vector<Field> fields_of(const std::vector<NamedResult>& results, const Series& series,
                             const std::set<std::string>& parameters, const Trainings& trainings) {
  const NamedResult& from = results[series.result];
  const json& row = series.first();
  const bool ok = series.status == "ok";
  const std::string by = series.parameter("backend").empty() ? "transport" : "backend";
  const auto if_ok = [](bool known, auto value) { return known ? json(value) : json(); };
  const auto time = [&](const char* field) {  // samples of several launches are never pooled
    return ok && series.rows.size() == 1 ? row.at("time_s").value(field, json()) : json();
  };
  std::vector<Field> fields{{"system", from.result.at("system").at("name")},
                            {"file", from.name},
                            {"host", text_of(environment_of(results, series, row), "host")},
                            {"id", row.at("id")},
                            {"benchmark", row.at("benchmark")},
                            {"problem", series.problem()},
                            {"direction", series.parameter("direction")},
                            {"precision", series.parameter("precision")},
                            {"backend", series.parameter(by)},
                            {"algorithm", series.algorithm()},
                            {"status", status_of(series)},
                            {"required", lacks_required(series) ? "required" : ""},
                            {"mark", mark_of(series)},
                            {"reason", ok ? "" : series.reason},
                            {"energy_domains", energy_domains(series)},
                            {"convergence", trainings.text(series)},
                            {"repeat", repeat_command(from.result, row)},
                            {"median", if_ok(ok, series.median)},
                            {"low", if_ok(ok && series.has_interval, series.interval.low)},
                            {"high", if_ok(ok && series.has_interval, series.interval.high)},
                            {"range", ok && series.is_range ? 1 : 0},
                            {"launches", if_ok(!series.published, series.rows.size())},
                            {"samples", time("n")},
                            {"min", time("min")},
                            {"p95", time("p95")},
                            {"p99", time("p99")},
                            {"fraction", ceiling_fraction(series)},
                            {"max_error", worst_of(series, "max_error")},
                            {"error_over_bound", worst_of(series, "error_over_bound")},
                            {"energy", energy_of(series)},
                            {"published", series.published ? 1 : 0}};
  for (const char* rate : {"flops_per_s", "bytes_per_s", "images_per_s", "busbw"})
    fields.emplace_back(rate, rate_of(series, rate));
  for (const std::string& name : parameters)
    fields.emplace_back("parameter/" + name, series.parameter(name));
  return fields;
}

}  // namespace

json rows_part(const std::vector<NamedResult>& results, const std::vector<Series>& all,
               const FleetSummary& fleet, Strings& strings) {
  // The values of a row that stands for a fleet; a column that its node has no value for keeps
  // none.
  std::map<std::pair<std::size_t, std::string>, const json*> of_fleet;
  for (const FleetRow& row : fleet.rows) of_fleet[{row.result, row.id}] = &row.values;
  json columns = json::array(), texts = json::array(), values = json::array();
  const std::set<std::string> parameters = further_parameters(all);
  const Trainings trainings(results);
  for (const Series& series : all) {
    const auto found = of_fleet.find({series.result, series.first().at("id")});
    json line = json::array();
    for (auto& [name, value] : fields_of(results, series, parameters, trainings)) {
      if (found != of_fleet.end() && !value.is_null()) value = found->second->value(name, value);
      if (values.empty()) columns.push_back(name);
      if (values.empty() && value.is_string()) texts.push_back(name);
      line.push_back(value.is_string() ? json(strings(value)) : value);
    }
    values.push_back(std::move(line));
  }
  if (values.empty()) return nullptr;
  return {{"columns", columns}, {"texts", texts}, {"parameters", parameters}, {"values", values}};
}

json counts_part(const std::vector<Series>& all, const FleetSummary& fleet) {
  // The rows of a fleet's nodes that are not shown by themselves.
  std::map<std::string, std::size_t> counts{
      {"ok", fleet.verified}, {"unsupported", fleet.unsupported}, {"published", 0}};
  for (const char* status : row_statuses) counts[status] += 0;
  for (const Series& series : all) ++counts[status_of(series)];
  counts["rows"] = all.size() + fleet.verified + fleet.unsupported;
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
      for (const Baseline& baseline : baselines) matches.push_back(baseline.match(row));
    }
    for (const json& match : matches) {
      if (!match.is_object()) continue;
      const double value = match.at("value");
      // The ratio is to the time shown, not to that of the first launch; where the other system has
      // a rate, or its source a ratio of its own, it is the one found.
      const bool by_time = match.at("unit") == "s" && !match.contains("ratio_printed");
      list.push_back({{"row", i},
                      {"value", value},
                      {"speedup", by_time ? json(value / all[i].median) : match.at("speedup")},
                      {"published", match.at("published")},
                      {"projection", match.value("projection", false) ? 1 : 0},
                      {"not_given", match.contains("not_given") ? 1 : 0}});
      for (const char* text : {"system", "unit", "citation", "note"})
        list.back()[text] = strings(text_of(match, text));
    }
  }
  return columns_of(list);
}

}  // namespace assay::report
