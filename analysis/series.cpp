#include "analysis/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

std::string text_of(const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string Series::parameter(const std::string& name) const {
  return text_of(first().at("parameters"), name);
}

std::string Series::algorithm() const {
  const std::string asked = parameter("algorithm");
  const json executed = first().value("executed", json());
  const std::string ran = executed.is_object() ? text_of(executed, "algorithm") : "";
  if (ran.empty() || ran == asked) return asked;
  return asked.empty() ? ran : fmt::format("{} ({})", ran, asked);
}

std::string Series::problem() const {
  const json names = first().value("names", json::array());
  return names.empty() ? text_of(first().at("problem"), "descriptor")
                       : names.front().get<std::string>();
}

namespace {

void add_interval(Series& series) {
  if (series.status != "ok") return;
  const json ci = series.first().at("time_s").value("ci95", json());
  if (series.rows.size() > 1 && !series.published) {
    // The launch is the unit: the samples of a launch share its memory layout and binding, so their
    // interval would be too narrow.
    series.interval = median_interval(series.medians);
    series.has_interval = true;
    series.is_range = series.rows.size() < static_cast<std::size_t>(least_for_interval);
  } else if (ci.is_array()) {
    series.interval = {ci.at(0), ci.at(1)};
    series.has_interval = true;
  }
}

using SortKey = std::tuple<std::string, std::string, int, std::string, std::string, std::string,
                           std::string, std::size_t>;

/// A sort key that puts sizes in numeric order: 4, 400000, 16777216.
std::string numeric_order(std::string problem) {
  const bool size = problem.find_first_not_of("0123456789") == std::string::npos;
  if (size) problem.insert(0, 20 - std::min<std::size_t>(problem.size(), 20), '0');
  return problem;
}

SortKey sort_key(const Series& series) {
  // The order of training, not of the alphabet.
  const std::string direction = series.parameter("direction");
  const int pass = direction == "forward" ? 0 : direction == "bwd_data" ? 1 : 2;
  const json& row = series.first();
  return {text_of(row, "benchmark"),
          numeric_order(series.problem()),
          pass,
          series.parameter("precision"),
          series.parameter("algorithm"),
          series.parameter("backend"),
          text_of(row, "id"),
          series.result};
}

}  // namespace

bool any_launch(const Series& series, bool (*is)(const json& row)) {
  return std::any_of(series.rows.begin(), series.rows.end(), is);
}

std::string mark_of(const Series& a, const Series& b) { return worse_mark(mark_of(a), mark_of(b)); }

bool ids_repeat(const std::vector<Series>& all) {
  std::set<std::pair<std::size_t, std::string>> seen;
  return std::any_of(all.begin(), all.end(), [&](const Series& series) {
    return !seen.emplace(series.result, text_of(series.first(), "id")).second;
  });
}

std::vector<Series> series_of(const std::vector<NamedResult>& results) {
  std::vector<Series> all;
  for (std::size_t r = 0; r < results.size(); ++r) {
    const json& result = results[r].result;
    std::map<std::string, LaunchGroups> ids;
    for (const json& row : result.at("rows"))
      ids[row.at("id").get<std::string>()].add(SharedRow::in(row), environment_key(result, row));
    for (auto& [id, groups] : ids)
      for (Launches& launches : groups.take()) {
        Series series;
        static_cast<Launches&>(series) = std::move(launches);
        series.result = r;
        add_interval(series);
        all.push_back(std::move(series));
      }
  }
  // A run has its cases in random order. Readers look for a problem, and compare adjacent rows.
  std::vector<std::pair<SortKey, std::size_t>> order;
  for (const Series& series : all) order.emplace_back(sort_key(series), order.size());
  std::sort(order.begin(), order.end());
  std::vector<Series> sorted;
  for (const auto& [key, place] : order) sorted.push_back(std::move(all[place]));
  return sorted;
}

std::vector<Series> series_of(std::vector<NamedResult>&& results) {
  std::vector<Series> all = series_of(std::as_const(results));
  for (Series& series : all)
    for (SharedRow& row : series.rows) row.own();
  return all;
}

bool has_time(const Series& series) { return series.status == "ok" && series.median > 0; }

bool rate_alone(const Series& series) {
  return series.published && series.first().at("status") == "ok" &&
         series.first().at("time_s").is_null();
}

nlohmann::json rate_of(const Series& series, const std::string& name) {
  const json& row = series.first();
  const nlohmann::json rate = row.at("rates").value(name, json());
  if (rate_alone(series)) return rate;
  if (!has_time(series) || !rate.is_number()) return nullptr;
  return rate.get<double>() * row.at("time_s").at("median").get<double>() / series.median;
}

namespace {

std::string domains_of(const json& row) {
  std::vector<std::string> names;
  if (const json domains = row.value("energy_domains_j", json()); domains.is_object())
    for (const auto& [name, joules] : domains.items()) names.push_back(name);
  return join(names, " + ");
}

}  // namespace

json energy_of(const Series& series) {
  if (series.status != "ok") return nullptr;
  std::vector<double> launches;
  for (const json& row : series.rows) {
    const json joules = row.value("energy_j", json());
    if (!joules.is_number() || domains_of(row) != domains_of(series.first())) return nullptr;
    launches.push_back(joules);
  }
  return median(launches);
}

std::string energy_domains(const Series& series) {
  return energy_of(series).is_number() ? domains_of(series.first()) : "";
}

nlohmann::json problem_number(const Series& series, const std::string& name) {
  const nlohmann::json value = series.first().at("problem").value(name, json());
  return value.is_number() ? value : json(nullptr);
}

std::string parameters_but(const Series& series, const std::vector<std::string>& without) {
  std::string text;
  for (const auto& [name, value] : series.first().at("parameters").items())
    if (std::find(without.begin(), without.end(), name) == without.end() && !value.is_null())
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name,
                          value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

std::string system_of(const std::vector<NamedResult>& results, const Series& series) {
  return results[series.result].result.at("system").at("name");
}

std::string hardware_of(const std::vector<NamedResult>& results, const Series& series) {
  const json& all = results[series.result].result.at("environments");
  const std::size_t index = series.first().at("environment");
  if (index >= all.size()) return "";
  return all[index].value("hashes", json::object()).value("hardware", json()).dump();
}

namespace {

/// In their values mpirun names the ranks of a node and the cores of a rank: "ppr:2:node:PE=1".
constexpr const char* mappings[] = {"OMPI_MCA_rmaps_base_mapping_policy",
                                    "PRTE_MCA_rmaps_default_mapping_policy"};

/// Replaces the numbers in the mappings; whether there are any.
bool without_counts(json& software) {
  const auto switches = software.find("switches");
  if (switches == software.end() || !switches->is_object()) return false;
  bool any = false;
  for (const char* name : mappings)
    if (const auto mapping = switches->find(name);
        mapping != switches->end() && mapping->is_string()) {
      std::string text = mapping->get<std::string>();
      for (char& c : text)
        if (c >= '0' && c <= '9') c = '#';
      *mapping = text;
      any = true;
    }
  return any;
}

}  // namespace

std::string environment_but(const std::vector<NamedResult>& results, const Series& series,
                            const std::string& by) {
  const json& all = results[series.result].result.at("environments");
  const std::size_t index = series.first().at("environment");
  if (index >= all.size()) return series.environment;
  json software = all[index].value("software", json::object());
  const auto libraries = software.find("libraries");
  bool differs = libraries != software.end() && libraries->is_object() && libraries->erase(by) > 0;
  if (by == "threads" || by == "ranks" || by == "nodes")
    differs = without_counts(software) || differs;
  // With the library its file varies; MPI libraries load other modules for other ranks and hosts.
  if (differs || by == "ranks" || by == "nodes")
    differs = software.erase("binaries") > 0 || differs;
  if (!differs) return series.environment;
  return hardware_of(results, series) + " " + software.dump();
}

std::string work_of(const Series& series) {
  return text_of(series.first(), "benchmark") + " " +
         series.first().at("problem").at("descriptor").get<std::string>();
}

double parameter_number(const Series& series, const std::string& name) {
  const json value = series.first().at("parameters").value(name, json());
  return value.is_number() ? value.get<double>() : 0;
}

bool is_collective(const Series& series) {
  return series.first().at("rates").value("busbw", json()).is_number();
}

}  // namespace assay
