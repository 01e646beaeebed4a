#include "analysis/accept/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/gather/gather.hpp"
#include "analysis/load.hpp"
#include "core/base/error.hpp"
#include "core/result/result.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// The launches of an id on a node, from several files.
struct Parts {
  std::vector<LaunchGroups> files;
  std::set<std::string> environments;
  bool left_out = false;  ///< by --walltime, in one of the files
};

/// Each file decides which of its launches count; then the files are merged.
NodeRow merged(Parts& parts) {
  NodeRow made;
  if (parts.left_out) made.reason = "--walltime left no time for it";
  std::vector<double> medians;
  for (LaunchGroups& groups : parts.files)
    for (Launches& part : groups.take()) {
      if (row_gravity(part.status) > row_gravity(made.status)) {  // the latter may be "missing"
        made.status = part.status;
        made.reason = part.reason;
      }
      for (SharedRow& shared : part.rows) {
        json& row = shared.own();
        made.required = made.required || row.value("required", false);
        if (made.names.empty()) made.names = row.at("names").get<std::vector<std::string>>();
        made.launches.push_back(std::move(row));
      }
      medians.insert(medians.end(), part.medians.begin(), part.medians.end());
    }
  if (made.status == "ok" && parts.environments.size() > 1) {
    made.status = "missing";
    made.reason = fmt::format(
        "its launches ran in {} environments that differ in hardware or software, so there is no "
        "single result: give runs of one environment",
        parts.environments.size());
  }
  if (made.status != "ok") {
    made.launches.clear();
    return made;
  }
  made.value = median(medians);
  if (medians.size() > 1) made.spread = median_interval(medians);
  return made;
}

class Builder {
 public:
  explicit Builder(const Criteria& criteria) : criteria_(criteria) {
    for (const std::string& name : criteria.node_names) node(name);
  }

  void add(json& result) {
    if (const json missing = result.at("run").value("missing_nodes", json::array());
        criteria_.node_names.empty())
      for (const json& lacking : missing) node(name_of(lacking.at("host")));
    add_left_out(result);
    std::map<std::pair<std::string, std::string>, LaunchGroups> here;
    std::map<std::string, LaunchGroups> here_multi_node;
    for (json& row : result.at("rows")) {
      const std::string id = row.at("id");
      if (!criteria_.includes(id)) continue;
      if (row.value("published", false)) {
        published_.insert(id);
        continue;
      }
      const std::size_t index = row.at("environment");
      const json& environment = result.at("environments").at(index);
      const std::string host = name_of(environment.at("host"));
      if (!criteria_.node_names.empty() && !nodes_.contains(host)) {
        unexpected_.insert(host);
        continue;
      }
      const std::string key = environment_key(result, row);
      const json several = row.at("parameters").value("nodes", json());
      const bool ok = row.at("status") == "ok";
      if (several.is_number() && several > 1) {
        here_multi_node[id].add(std::move(row), key);
        if (ok) multi_node_[id].environments.insert(key);
        continue;
      }
      NodeParts& parts = node(host);
      if (parts.seen.insert({&result, index}).second) parts.environments.push_back(environment);
      here[{host, id}].add(std::move(row), key);
      // Rows that are not ok may have no environment: their process may have died before it told
      // it.
      if (ok) parts.rows[id].environments.insert(key);
    }
    for (auto& [host_and_id, groups] : here)
      nodes_[host_and_id.first].rows[host_and_id.second].files.push_back(std::move(groups));
    for (auto& [id, groups] : here_multi_node) multi_node_[id].files.push_back(std::move(groups));
  }

  /// Nodes of which nothing was added have no result.
  void expect(const std::vector<std::string>& names) {
    if (!criteria_.node_names.empty()) return;
    for (const std::string& name : names) node(name_of(name));
  }

  Fleet fleet() {
    Fleet made;
    std::set<std::string> ids, supported;
    for (auto& [name, parts] : nodes_) {
      Node& node = made.nodes.emplace_back();
      node.name = name;
      node.environments = std::move(parts.environments);
      std::stable_sort(node.environments.begin(), node.environments.end(),
                       [](const json& a, const json& b) {
                         return text_of(a["volatile"], "time") < text_of(b["volatile"], "time");
                       });
      for (auto& [id, row] : parts.rows) {
        NodeRow merged_row = merged(row);
        ids.insert(id);
        if (merged_row.status != "unsupported" || merged_row.required) supported.insert(id);
        node.rows.emplace(id, std::move(merged_row));
      }
    }
    for (const std::string& id : ids)
      if (supported.contains(id))
        made.ids.push_back(id);
      else
        not_judged_[id] = "unsupported on every node, and not required by the suite";
    for (const std::string& id : published_)
      if (!ids.contains(id)) not_judged_[id] = "published numbers are not measurements";
    for (auto& [id, parts] : multi_node_) made.multi_node.emplace(id, merged(parts));
    for (Node& node : made.nodes) {
      for (const auto& [id, why] : not_judged_) node.rows.erase(id);
      if (node.rows.empty()) continue;
      for (const std::string& id : made.ids)
        if (node.rows.try_emplace(id).second) node.rows[id].reason = no_such_row;
    }
    made.not_judged = not_judged_;
    made.unexpected.assign(unexpected_.begin(), unexpected_.end());
    return made;
  }

 private:
  struct NodeParts {
    std::map<std::string, Parts> rows;
    std::vector<json> environments;
    std::set<std::pair<const json*, std::size_t>> seen;
  };
  NodeParts& node(const std::string& name) {
    const auto [place, added] = nodes_.try_emplace(name);
    if (added) by_short_name_[short_name(name)].push_back(name);
    return place->second;
  }

  /// The name of the node that a host is: the same, or the one without its domain. A host that is
  /// no node yet keeps its own.
  std::string name_of(const std::string& host) {
    const auto [known, fresh] = names_.try_emplace(host, host);
    if (!fresh || nodes_.contains(host)) return known->second;
    const auto expect_same = [](const std::string& name, const std::string& a,
                                const std::string& b) {
      if (!same_host(a, b))
        throw InputError(fmt::format(
            "{} may be {} or {} (two hosts of one short name). Name hosts in full.", name, a, b));
    };
    for (const std::string& name : by_short_name_[short_name(host)]) {
      if (!same_host(name, host)) continue;
      expect_same(name, hosts_.try_emplace(name, host).first->second, host);
      if (known->second != host) expect_same(host, known->second, name);
      known->second = name;
    }
    return known->second;
  }

  /// A case that no node had time for must not go unnoticed: it is missing on each.
  void add_left_out(const json& result) {
    const json ids = result.at("run").value("left_out", json::array());
    const json& environments = result.at("environments");
    if (ids.empty() || environments.empty()) return;
    const std::string host = name_of(environments.front().at("host"));
    if (!criteria_.node_names.empty() && !nodes_.contains(host)) return;
    for (const json& id : ids)
      if (criteria_.includes(id)) node(host).rows[id].left_out = true;
  }

  const Criteria& criteria_;
  std::map<std::string, NodeParts> nodes_;
  std::map<std::string, std::vector<std::string>> by_short_name_;  ///< names of nodes
  std::map<std::string, std::string> names_, hosts_;  ///< node by host, and a host by its node
  std::set<std::string> unexpected_, published_;
  std::map<std::string, Parts> multi_node_;
  std::map<std::string, std::string> not_judged_;
};

}  // namespace

KeepRow keep_for_acceptance(const Criteria& criteria) {
  std::set<std::string> rates;
  for (const AbsoluteRule& rule : criteria.absolute) rates.insert(rule.quantity);
  const bool ceilings = rates.contains("ceiling_fraction");
  return [&criteria, rates, ceilings](json& row, std::string_view, const json&) {
    if (!criteria.includes(row.at("id"))) return false;
    static const std::set<std::string> kept{"id",       "names",      "published", "environment",
                                            "launch",   "attempt",    "status",    "reason",
                                            "required", "parameters", "time_s",    "rates"};
    const bool marked = !mark_of(row).empty();
    keep_members(row, [&](const std::string& field) {
      return kept.contains(field) || (marked && field == "device_state") ||
             (ceilings && field.starts_with("ceiling"));
    });
    keep_members(row["parameters"],
                 [&](const std::string& field) { return marked || field == "nodes"; });
    keep_median_and_marks(row);
    keep_members(row["rates"], [&](const std::string& field) {
      return rates.contains(field) || row.value("published", false);
    });
    return true;
  };
}

Fleet fleet_of(std::vector<NamedResult> results, const Criteria& criteria,
               const std::vector<std::string>& listed) {
  Builder builder(criteria);
  std::map<std::string, std::string> runs;  // id → file
  for (NamedResult& named : results) {
    const std::string id = named.result.at("run").at("id");
    const auto [earlier, added] = runs.emplace(id, named.name);
    if (!added)
      throw InputError(fmt::format(
          "{} and {} are both results of run {} (its launches would count twice). Give only "
          "one of them.",
          earlier->second, named.name, id));
    builder.add(named.result);
    named.result["rows"] = json::array();
  }
  builder.expect(listed);
  return builder.fleet();
}

}  // namespace assay
