// What belongs to machines: nodes beside one another, environments and their differences.

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/ratio.hpp"
#include "analysis/report/parts.hpp"

namespace assay::report {

using nlohmann::json;

namespace {

constexpr std::size_t most_heat_rows = 150;  // those that differ most; more cannot be read

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

}  // namespace

json nodes_part(const std::vector<NamedResult>& results, const std::vector<Series>& all) {
  // A fleet is what has the same processors under one name (where nobody has given one, a system is
  // named after its host); a node whose hardware differs otherwise belongs to it.
  struct Host {
    std::vector<double> medians;
    bool good = true;
  };
  std::map<std::pair<std::string, std::string>, std::map<std::string, Host>> cases;
  for (const Series& series : all) {
    // A time that several nodes took together is none of a node.
    if (series.published || parameter_number(series, "nodes") > 1) continue;
    for (const json& row : series.rows) {
      const json& environment = environment_of(results, series, row);
      const std::string host = text_of(environment, "host");
      const std::string system = system_of(results, series);
      const std::string fleet = (system == host.substr(0, host.find('.')) ? "" : system) + "\n" +
                                text_of(environment.value("hardware", json::object()), "processor");
      Host& one = cases[{text_of(row, "id"), fleet}][host];
      if (row.at("status") == "ok" && row.at("time_s").at("median") > 0)
        one.medians.push_back(row.at("time_s").at("median"));
      else
        one.good = false;  // one wrong launch makes the others' times worthless
    }
  }
  struct Line {
    std::string id;
    double fleet = 0, spread = 0;
    std::map<std::string, double> speedups;  ///< over the fleet; the medians until it is known
  };
  std::vector<Line> lines;
  std::set<std::string> hosts;
  for (const auto& [key, nodes] : cases) {
    Line line;
    line.id = key.first;
    std::vector<double> medians;
    for (const auto& [host, node] : nodes)
      if (node.good && !node.medians.empty()) {
        line.speedups[host] = median(node.medians);
        medians.push_back(line.speedups[host]);
      }
    if (medians.size() < 2) continue;
    line.fleet = median(medians);
    for (const auto& [host, node] : nodes) hosts.insert(host);
    for (auto& [host, its] : line.speedups) {
      its = speedup(its, line.fleet);
      line.spread = std::max(line.spread, std::fabs(std::log(its)));
    }
    lines.push_back(std::move(line));
  }
  if (lines.empty()) return nullptr;
  const std::size_t total = lines.size();
  if (total > most_heat_rows) {
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.spread > b.spread; });
    lines.resize(most_heat_rows);
  }
  json rows = json::array();
  for (const Line& line : lines) {
    json speedups = json::array();
    for (const std::string& host : hosts) {
      const auto found = line.speedups.find(host);
      speedups.push_back(found == line.speedups.end() ? json() : json(found->second));
    }
    rows.push_back({{"id", line.id}, {"fleet_median", line.fleet}, {"speedups", speedups}});
  }
  return {{"hosts", hosts}, {"rows", rows}, {"of", total}};
}

json environments_part(const std::vector<NamedResult>& results) {
  json distinct = json::array();
  std::map<std::string, std::size_t> places;
  for (const NamedResult& one : results) {
    const std::string system = one.result.at("system").at("name");
    for (const json& environment : one.result.at("environments")) {
      const json &hardware = environment.at("hardware"), &software = environment.at("software");
      const auto [place, fresh] =
          places.emplace(system + hardware.dump() + software.dump(), distinct.size());
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
      if (!one.name.empty()) add("files", one.name);
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
    for (const auto& one : flat) {
      const auto found = one.find(field);
      values.push_back(found == one.end() ? json() : json(found->second));
      seen.insert(found == one.end() ? "\n" : found->second);
    }
    if (seen.size() > 1)
      differences.push_back({{"field", field}, {"values", values}});
    else
      common.push_back({{"field", field}, {"value", values[0]}});
  }
  return {{"distinct", distinct}, {"differences", differences}, {"common", common}};
}

}  // namespace assay::report
