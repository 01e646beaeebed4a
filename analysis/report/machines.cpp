// Parts about machines: nodes beside one another, environments and their differences.

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/accept/checks.hpp"
#include "analysis/ratio.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

void add_once(json& list, const std::string& text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(text);
}

std::string fleet_name(const std::string& system, const ResultEnvironment& environment) {
  const std::string& host = environment.host;
  return (system == host.substr(0, host.find('.')) ? "" : system) + "\n" +
         read_field(environment.hardware, "processor");
}

namespace {

constexpr std::size_t most_heat_rows = 150;  // those that differ most; more would be unreadable
constexpr std::size_t most_heat_hosts = 100;

/// Calls `add` with the path and the text of each value that is not an object.
void flatten(const json& value, const std::string& path, const auto& add) {
  if (!value.is_object()) return add(path, value.is_string() ? value : json(value.dump()));
  for (const auto& [key, inner] : value.items()) flatten(inner, path + "." + key, add);
}

/// One row id on one node.
struct Host {
  std::vector<double> medians;
  bool good = true;
  std::string mark;  ///< mark of the external disturbances of its rows
};

/// Ordered by id and fleet, then by node. A fleet consists of all nodes with equal processors and
/// one name of a system, even if other hardware differs. A system without a given name has the name
/// of its host.
using Cases = std::map<std::pair<std::string, std::string>, std::map<std::string, Host>>;

Cases collect_cases(const Results& results, const SeriesList& all) {
  Cases cases;
  for (const Series& series : all) {
    // A time that several nodes took together belongs to no single node.
    if (series.published || parameter_number(series, "nodes") > 1) continue;
    for (const Row& row : series.rows) {
      const ResultEnvironment environment = results[series.result].environment(row);
      const std::string fleet = fleet_name(name_system(results, series), environment);
      Host& node = cases[{row.id, fleet}][environment.host];
      if (row.is_ok() && row.median() > 0)
        node.medians.push_back(row.median());
      else
        node.good = false;  // one incorrect launch invalidates the times of the others
      node.mark = worse_mark(node.mark, choose_mark(was_shared(row), was_throttled(row)));
    }
  }
  return cases;
}

/// One row id over its nodes.
struct Line {
  std::string id;
  double fleet = 0, spread = 0;
  std::map<std::string, double> speedups{};    ///< of a node over the median of the other nodes
  std::map<std::string, std::string> marks{};  ///< of nodes: "!" or the mark of throttling
};

double departure(double speedup) { return std::fabs(std::log(speedup)); }

/// There are no speedups if too few nodes have a number, by the rule of `assay accept`.
Line compare_nodes(const std::string& id, const std::map<std::string, Host>& nodes) {
  Line line{id};
  std::vector<double> medians;
  for (const auto& [host, node] : nodes) {
    if (!node.good || node.medians.empty()) continue;
    medians.push_back(median(node.medians));
    line.marks[host] = node.mark;
  }
  const std::vector<Standing> positions = standings(medians);
  std::size_t i = 0;
  for (const auto& [host, mark] : line.marks) {
    const double mine = medians[i];
    if (const auto others = positions[i++].others) {
      line.speedups[host] = speedup(mine, *others);
      line.spread = std::max(line.spread, departure(line.speedups[host]));
    }
  }
  if (!medians.empty()) line.fleet = median(medians);
  return line;
}

/// Keeps the nodes whose rows deviate most.
void leave_departing(const std::vector<Line>& lines, std::set<std::string>& hosts) {
  if (hosts.size() <= most_heat_hosts) return;
  std::map<std::string, double> spread;
  for (const Line& line : lines)
    for (const auto& [host, speedup] : line.speedups)
      spread[host] = std::max(spread[host], departure(speedup));
  std::set<std::pair<double, std::string>> ranked;
  for (const auto& [host, most] : spread) ranked.emplace(-most, host);
  hosts.clear();
  for (const auto& [most, host] : ranked)
    if (hosts.size() < most_heat_hosts) hosts.insert(host);
}

}  // namespace

json make_nodes_part(const Results& results, const SeriesList& all) {
  std::vector<Line> lines;
  std::set<std::string> hosts;
  for (const auto& [key, nodes] : collect_cases(results, all))
    if (Line line = compare_nodes(key.first, nodes); !line.speedups.empty()) {
      for (const auto& [host, node] : nodes) hosts.insert(host);
      lines.push_back(std::move(line));
    }
  if (lines.empty()) return nullptr;
  const std::size_t total = lines.size(), of_hosts = hosts.size();
  if (total > most_heat_rows) {
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.spread > b.spread; });
    lines.resize(most_heat_rows);
  }
  leave_departing(lines, hosts);
  json rows = json::array();
  for (Line& line : lines) {
    json speedups = json::array(), marks = json::array();
    for (const std::string& host : hosts) {
      const auto speedup = line.speedups.find(host);
      const bool known = speedup != line.speedups.end();
      speedups.push_back(known ? json(speedup->second) : json());
      marks.push_back(known ? line.marks[host] : "");
    }
    rows.push_back(
        {{"id", line.id}, {"fleet_median", line.fleet}, {"speedups", speedups}, {"marks", marks}});
  }
  return {{"hosts", hosts}, {"rows", rows}, {"of", total}, {"of_hosts", of_hosts}};
}

json make_environments_part(const Results& results) {
  json distinct = json::array(), differences = json::array(), common = json::array();
  std::map<std::string, std::size_t> places;
  std::map<std::string, std::map<std::size_t, json>> fields;  // by environment, if they have it
  for (const NamedResult& named : results)
    for (const ResultEnvironment& environment : named.environments()) {
      const auto [place, fresh] =
          places.emplace(fleet_name(named.system(), environment) + environment.hardware.dump() +
                             environment.software.dump(),
                         distinct.size());
      const std::size_t index = place->second;
      if (fresh) {
        distinct.push_back(
            {{"system", named.system()}, {"hosts", json::array()}, {"files", json::array()}});
        const auto add = [&](const std::string& path, const json& text) {
          fields[path][index] = text;
        };
        flatten(environment.hardware, "hardware", add);
        flatten(environment.software, "software", add);
      }
      add_once(distinct[index]["hosts"], environment.host);
      add_once(distinct[index]["files"], named.name);
    }
  if (distinct.empty()) return nullptr;
  for (auto& [field, by_environment] : fields) {
    json values = json::array();
    for (std::size_t i = 0; i < distinct.size(); ++i) values.push_back(by_environment[i]);
    if (std::count(values.begin(), values.end(), values[0]) < std::ssize(values))
      differences.push_back({{"field", field}, {"values", values}});
    else
      common.push_back({{"field", field}, {"value", values[0]}});
  }
  return {{"distinct", distinct}, {"differences", differences}, {"common", common}};
}

}  // namespace assay::report
