#include "analysis/series.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"

namespace assay {

using nlohmann::json;

std::string read_field(const json& object, const std::string& key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null()) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

std::string Series::parameter(const std::string& name) const { return first().parameter(name); }

std::string Series::algorithm() const {
  const std::string parameter_value = parameter("algorithm");
  const Row& row = first();
  const std::string ran = row.execution ? row.execution->algorithm : "";
  if (ran.empty() || ran == parameter_value) return parameter_value;
  return parameter_value.empty() ? ran : fmt::format("{} ({})", ran, parameter_value);
}

std::string Series::problem() const {
  const Row& row = first();
  return row.names.empty() ? row.problem.descriptor : row.names.front();
}

namespace {

void add_interval(Series& series) {
  if (series.status != "ok") return;
  const auto& time = series.first().time_s;
  if (series.rows.size() > 1 && !series.published) {
    // The launch is the unit: the samples of a launch share its memory layout and binding, so an
    // interval from samples would be too narrow.
    series.interval = compute_median_interval(series.medians);
    series.has_interval = true;
    series.is_range = series.rows.size() < static_cast<std::size_t>(least_for_interval);
  } else if (time && time->ci95) {
    series.interval = *time->ci95;
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
  // The order of training, instead of alphabetic order.
  const std::string direction = series.parameter("direction");
  const int pass = direction == "forward" ? 0 : direction == "bwd_data" ? 1 : 2;
  const Row& row = series.first();
  return {row.benchmark,
          numeric_order(series.problem()),
          pass,
          series.parameter("precision"),
          series.parameter("algorithm"),
          series.parameter("backend"),
          row.id,
          series.result};
}

}  // namespace

std::string choose_mark(const Series& a, const Series& b) {
  return worse_mark(choose_mark(a), choose_mark(b));
}

bool ids_repeat(const SeriesList& all) {
  std::set<std::pair<std::size_t, std::string>> seen;
  return std::any_of(all.begin(), all.end(), [&](const Series& series) {
    return !seen.emplace(series.result, series.first().id).second;
  });
}

SeriesList make_series(const Results& results) {
  SeriesList all;
  for (std::size_t r = 0; r < results.size(); ++r) {
    std::map<std::string, LaunchGroups> ids;
    for (const Row& row : results[r].rows())
      ids[row.id].add(SharedRow::in(row), results[r].environment(row).key());
    for (auto& [id, groups] : ids)
      for (Launches& launches : groups.take()) {
        Series series;
        static_cast<Launches&>(series) = std::move(launches);
        series.result = r;
        add_interval(series);
        all.push_back(std::move(series));
      }
  }
  // A run has its cases in random order, but readers look for a problem, and compare adjacent rows.
  std::vector<std::pair<SortKey, std::size_t>> order;
  for (const Series& series : all) order.emplace_back(sort_key(series), order.size());
  std::sort(order.begin(), order.end());
  SeriesList sorted;
  for (const auto& [key, place] : order) sorted.push_back(std::move(all[place]));
  return sorted;
}

SeriesList make_series(Results&& results) {
  SeriesList all = make_series(std::as_const(results));
  for (Series& series : all)
    for (SharedRow& row : series.rows) row.own();
  return all;
}

bool has_time(const Series& series) { return series.status == "ok" && series.median > 0; }

bool rate_alone(const Series& series) {
  return series.published && series.first().is_ok() && !series.first().time_s;
}

std::optional<double> find_rate(const Series& series, const std::string& name) {
  const std::optional<double> rate = series.first().rate(name);
  if (!rate || rate_alone(series)) return rate;
  if (!has_time(series)) return std::nullopt;
  return *rate * series.first().median() / series.median;
}

namespace {

std::string list_domains(const Row& row) {
  std::vector<std::string> names;
  for (const auto& [name, joules] : row.energy_domains_j) names.push_back(name);
  return join(names, " + ");
}

}  // namespace

std::optional<double> compute_energy(const Series& series) {
  if (series.status != "ok") return std::nullopt;
  std::vector<double> launches;
  for (const SharedRow& row : series.rows) {
    if (!row->energy_j || list_domains(row) != list_domains(series.first())) return std::nullopt;
    launches.push_back(*row->energy_j);
  }
  return median(launches);
}

std::string energy_domains(const Series& series) {
  return compute_energy(series) ? list_domains(series.first()) : "";
}

std::optional<double> problem_number(const Series& series, const std::string& name) {
  const RowProblem& problem = series.first().problem;
  return name == "flops" ? problem.flops : name == "bytes" ? problem.bytes : problem.number(name);
}

std::string list_parameters_but(const Series& series, const std::vector<std::string>& without) {
  std::string text;
  for (const auto& [name, value] : series.first().parameters)
    if (std::find(without.begin(), without.end(), name) == without.end() && !value.is_null())
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, series.parameter(name));
  return text;
}

std::string name_system(const Results& results, const Series& series) {
  return results[series.result].system();
}

std::string describe_hardware(const Results& results, const Series& series) {
  return results[series.result].environment(series.first()).hashes.hardware;
}

namespace {

/// mpirun's values contain the ranks of a node and the cores of a rank: "ppr:2:node:PE=1".
constexpr const char* mappings[] = {"OMPI_MCA_rmaps_base_mapping_policy",
                                    "PRTE_MCA_rmaps_default_mapping_policy"};

/// Replaces the numbers in the mappings. True if there are any.
bool strip_counts(json& software) {
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

std::string environment_but(const Results& results, const Series& series, const std::string& by) {
  json software = results[series.result].environment(series.first()).software;
  if (!software.is_object()) return series.environment;
  const auto libraries = software.find("libraries");
  bool differs = libraries != software.end() && libraries->is_object() && libraries->erase(by) > 0;
  if (by == "threads" || by == "ranks" || by == "nodes")
    differs = strip_counts(software) || differs;
  // The library determines its file; MPI libraries load other modules for other ranks and hosts.
  if (differs || by == "ranks" || by == "nodes")
    differs = software.erase("binaries") > 0 || differs;
  if (!differs) return series.environment;
  return describe_hardware(results, series) + " " + software.dump();
}

std::string describe_work(const Series& series) {
  return series.first().benchmark + " " + series.first().problem.descriptor;
}

double parameter_number(const Series& series, const std::string& name) {
  return series.first().number(name).value_or(0);
}

bool is_collective(const Series& series) { return series.first().rate("busbw").has_value(); }

std::optional<double> ceiling_fraction(const Series& series) {
  std::vector<double> fractions;
  for (const Row& row : series.rows)
    if (row.ceiling && row.ceiling->fraction) fractions.push_back(*row.ceiling->fraction);
  return fractions.empty() ? std::nullopt : std::optional(ratio_median(fractions));
}

bool exceeds_ceiling(const Series& series) {
  return any_launch(series, [](const Row& row) {
    return row.ceiling && row.ceiling->fraction && row.ceiling->exceeded.value_or(false);
  });
}

}  // namespace assay
