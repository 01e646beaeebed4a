// What belongs to machines: nodes beside one another, environments and their differences.

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "analysis/accept/checks.hpp"
#include "analysis/ratio.hpp"
#include "analysis/report/parts.hpp"
#include "core/result/result.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr std::size_t most_heat_rows = 150;  // those that differ most; more cannot be read
constexpr std::size_t most_heat_hosts = 100;

const json& environment_of(const std::vector<NamedResult>& results, const Series& series,
                           const json& row) {
  static const json none = json::object();
  const json& all = results[series.result].result.at("environments");
  const std::size_t index = row.at("environment");
  return index < all.size() ? all[index] : none;
}

void flatten(const json& value, const std::string& path, std::map<std::string, std::string>& into) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      flatten(inner, path.empty() ? key : path + "." + key, into);
    return;
  }
  into[path] = value.is_string() ? value.get<std::string>() : value.dump();
}

/// One row id on one node.
struct Host {
  std::vector<double> medians;
  bool good = true;
  std::string mark;  ///< of what disturbed its rows from outside
};

/// By id and fleet, then by node. A fleet is what has the same processors under one name (where
/// nobody has given one, a system is named after its host); a node whose hardware differs otherwise
/// belongs to it.
using Cases = std::map<std::pair<std::string, std::string>, std::map<std::string, Host>>;

Cases cases_of(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  Cases cases;
  for (const Series& series : all) {
    // A time that several nodes took together is none of a node.
    if (series.published || parameter_number(series, "nodes") > 1) continue;
    for (const json& row : series.rows) {
      const json& environment = environment_of(results, series, row);
      const std::string host = text_of(environment, "host");
      const std::string fleet = fleet_name(system_of(results, series), environment);
      Host& node = cases[{text_of(row, "id"), fleet}][host];
      if (row.at("status") == "ok" && row.at("time_s").at("median") > 0)
        node.medians.push_back(row.at("time_s").at("median"));
      else
        node.good = false;  // one wrong launch makes the others' times worthless
      node.mark = worse_mark(
          node.mark, mark_told({{"shared", was_shared(row)}, {"throttled", was_throttled(row)}}));
    }
  }
  return cases;
}

/// One row id over its nodes.
struct Line {
  std::string id;
  double fleet = 0, spread = 0;
  std::map<std::string, double> speedups;    ///< of a node over the median of the other nodes
  std::map<std::string, std::string> marks;  ///< of nodes: "!" or the mark of throttling
};

/// Nothing where too few nodes have a number, by the rule of `assay accept`.
std::optional<Line> line_of(const std::string& id, const std::map<std::string, Host>& nodes) {
  Line line;
  line.id = id;
  std::vector<double> medians;
  std::vector<std::string> timed;
  for (const auto& [host, node] : nodes) {
    if (!node.good || node.medians.empty()) continue;
    timed.push_back(host);
    medians.push_back(median(node.medians));
    line.marks[host] = node.mark;
  }
  for (std::size_t i = 0; i < timed.size(); ++i)
    if (const auto others = standing(medians, i).others) {
      line.speedups[timed[i]] = speedup(medians[i], *others);
      line.spread = std::max(line.spread, std::fabs(std::log(line.speedups[timed[i]])));
    }
  if (line.speedups.empty()) return std::nullopt;
  line.fleet = median(medians);
  return line;
}

}  // namespace

std::string fleet_name(const std::string& system, const json& environment) {
  const std::string host = text_of(environment, "host");
  return (system == host.substr(0, host.find('.')) ? "" : system) + "\n" +
         text_of(environment.value("hardware", json::object()), "processor");
}

namespace {

/// The nodes whose rows depart most, in the order of their names.
std::set<std::string> departing(const std::vector<Line>& lines,
                                const std::set<std::string>& hosts) {
  if (hosts.size() <= most_heat_hosts) return hosts;
  std::map<std::string, double> spread;
  for (const Line& line : lines)
    for (const auto& [host, speedup] : line.speedups)
      spread[host] = std::max(spread[host], std::fabs(std::log(speedup)));
  std::vector<std::pair<double, std::string>> ranked;
  for (const auto& [host, most] : spread) ranked.emplace_back(-most, host);
  std::sort(ranked.begin(), ranked.end());
  std::set<std::string> kept;
  for (const auto& [most, host] : ranked)
    if (kept.size() < most_heat_hosts) kept.insert(host);
  return kept;
}

}  // namespace

json nodes_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  std::vector<Line> lines;
  std::set<std::string> hosts;
  for (const auto& [key, nodes] : cases_of(results, all))
    if (std::optional<Line> line = line_of(key.first, nodes)) {
      for (const auto& [host, node] : nodes) hosts.insert(host);
      lines.push_back(std::move(*line));
    }
  if (lines.empty()) return nullptr;
  const std::size_t total = lines.size();
  if (total > most_heat_rows) {
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.spread > b.spread; });
    lines.resize(most_heat_rows);
  }
  const std::size_t of_hosts = hosts.size();
  hosts = departing(lines, hosts);
  json rows = json::array();
  for (const Line& line : lines) {
    json speedups = json::array(), marks = json::array();
    for (const std::string& host : hosts) {
      const auto found = line.speedups.find(host);
      speedups.push_back(found == line.speedups.end() ? json() : json(found->second));
      marks.push_back(found == line.speedups.end() ? "" : line.marks.at(host));
    }
    rows.push_back(
        {{"id", line.id}, {"fleet_median", line.fleet}, {"speedups", speedups}, {"marks", marks}});
  }
  return {{"hosts", hosts}, {"rows", rows}, {"of", total}, {"of_hosts", of_hosts}};
}

json environments_part(const std::vector<NamedResult>& results) {
  json distinct = json::array();
  std::map<std::string, std::size_t> places;
  for (const NamedResult& named : results) {
    const std::string system = named.result.at("system").at("name");
    for (const json& environment : named.result.at("environments")) {
      const json &hardware = environment.at("hardware"), &software = environment.at("software");
      const auto [place, fresh] = places.emplace(
          fleet_name(system, environment) + hardware.dump() + software.dump(), distinct.size());
      if (fresh)
        distinct.push_back({{"system", system},
                            {"hosts", json::array()},
                            {"files", json::array()},
                            {"hardware", hardware},
                            {"software", software}});
      json& known = distinct[place->second];
      const auto add = [&](const char* list, const std::string& text) {
        if (std::find(known[list].begin(), known[list].end(), text) == known[list].end())
          known[list].push_back(text);
      };
      add("hosts", environment.at("host"));
      if (!named.name.empty()) add("files", named.name);
    }
  }
  if (distinct.empty()) return nullptr;
  std::vector<std::map<std::string, std::string>> flat(distinct.size());
  std::set<std::string> fields;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    for (const char* part : {"hardware", "software"}) flatten(distinct[i][part], part, flat[i]);
    for (const auto& [field, value] : flat[i]) fields.insert(field);
    for (const char* part : {"hardware", "software"}) distinct[i].erase(part);
  }
  json differences = json::array(), common = json::array();
  for (const std::string& field : fields) {
    json values = json::array();
    std::set<std::string> seen;
    for (const auto& environment : flat) {
      const auto found = environment.find(field);
      values.push_back(found == environment.end() ? json() : json(found->second));
      seen.insert(found == environment.end() ? "\n" : found->second);
    }
    if (seen.size() > 1)
      differences.push_back({{"field", field}, {"values", values}});
    else
      common.push_back({{"field", field}, {"value", values[0]}});
  }
  return {{"distinct", distinct}, {"differences", differences}, {"common", common}};
}

}  // namespace assay::report
