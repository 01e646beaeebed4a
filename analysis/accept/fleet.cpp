#include "analysis/accept/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/accept/pair_rows.hpp"
#include "analysis/burn_summary.hpp"
#include "analysis/host_names.hpp"
#include "analysis/load.hpp"
#include "analysis/ratio.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/result/marks.hpp"

namespace assay {

namespace {

constexpr const char* of_ceiling = "ceiling_fraction";
constexpr const char* of_burn = "burn_";  ///< prefix of the quantities of a burn-in
constexpr const char* of_blame = "blame";

/// The names of quantities that absolute criteria judge.
std::set<std::string> quantities(const Criteria& criteria) {
  std::set<std::string> names;
  for (const AbsoluteRule& rule : criteria.absolute) names.insert(rule.quantity);
  return names;
}

/// A row of a node while its launches are added. Each file decides which of its launches count.
struct Parts {
  NodeRow row;
  std::vector<double> medians;                        ///< of the launches, in seconds
  std::map<std::string, std::vector<double>> values;  ///< of the launches, by quantity
  std::set<std::string> environments;
  BurnTotals burn;
};

/// Sets the quantities of a burn-in, from all its launches together: they are its devices and
/// turns.
void finish_burn(Parts& parts) {
  const std::vector<BurnTotal> totals = parts.burn.take();
  for (auto& [name, quantity] : parts.row.quantities) {
    if (!name.starts_with(of_burn) || !quantity.reason.empty()) continue;
    const BurnTotal& total = totals.front();
    if (name == "burn_device_hours") quantity.value = total.device_hours;
    if (name == "burn_limit_per_hour") quantity.value = total.limit_per_device_hour();
    if (name == "burn_slowdown" && total.drift) {
      quantity.value = total.drift->ratio - 1;
      quantity.low = total.drift->interval->low - 1;
    }
    if (!quantity.value)
      quantity.reason = name == "burn_slowdown"
                            ? "the burn-in was too short to have two halves"
                            : "a burn-in has no such quantity (burn_device_hours, "
                              "burn_limit_per_hour, burn_slowdown)";
  }
}

/// Adds the largest cost of a rank or link in a launch.
void add_blame(Parts& parts, const Row& launch) {
  NodeRow::Quantity& quantity = parts.row.quantities[of_blame];
  const Result<LargestCost> largest =
      launch.blame ? find_largest_cost(*launch.blame)
                   : Unsupported{"the row has no table of blame (it is not of several ranks)"};
  if (const auto* const why = std::get_if<Unsupported>(&largest)) {
    if (quantity.reason.empty()) quantity.reason = why->reason;
    return;
  }
  const auto& cost = std::get<LargestCost>(largest);
  std::vector<double>& all = parts.values[of_blame];
  if (all.empty() || cost.most > *std::ranges::max_element(all)) quantity.who = cost.who;
  all.push_back(cost.most);
  quantity.low = std::max(quantity.low.value_or(cost.least), cost.least);
}

void add_value(Parts& parts, const std::string& quantity, const Row& launch) {
  const auto add = [&](const std::optional<double>& value, const std::string& why_none) {
    std::string& reason = parts.row.quantities[quantity].reason;
    if (value)
      parts.values[quantity].push_back(*value);
    else if (reason.empty())
      reason = why_none;
  };
  if (quantity.starts_with(of_burn))
    add(launch.burn ? std::optional(0.0) : std::nullopt, "the row has no burn-in");
  else if (quantity == "time_s")
    add(launch.median(), "");
  else if (quantity == of_blame)
    add_blame(parts, launch);
  else if (const auto metric = launch.metrics.find(quantity); metric != launch.metrics.end())
    add(metric->second.value, "");
  else if (quantity != of_ceiling)
    add(launch.rate(quantity), "the row has no " + quantity);
  else
    add(launch.ceiling.value_or(RowCeiling{}).fraction,
        launch.ceiling_reason.empty() ? "the row has no ceiling"
                                      : "no ceiling: " + launch.ceiling_reason);
}

/// The id without its number of threads, which a suite may leave to the machine; "" if the id has
/// no such number.
std::string name_case(const Row& row) {
  const std::string id = row.id + "/", part = "/t" + row.parameter("threads") + "/";
  const std::size_t place = id.find(part);
  if (place == std::string::npos || id.find(part, place + 1) != std::string::npos) return "";
  return id.substr(0, place) + "/t*" + id.substr(place + part.size() - 1);
}

void add_launches(Parts& parts, const Launches& launches, const std::set<std::string>& quantities) {
  NodeRow& row = parts.row;
  if (find_row_gravity(launches.status) >
      find_row_gravity(row.status)) {  // row.status may be "missing"
    row.status = launches.status;
    row.reason = launches.reason;
  }
  for (const Row& launch : launches.rows) {
    ++row.launches;
    // A case whose runs differ can run there, so it must be judged.
    row.required |=
        launch.required || (launch.burn && launch.burn->faulty + launch.burn->undecided > 0);
    row.disturbed |= was_shared(launch);
    row.throttled |= was_throttled(launch);
    if (row.names.empty()) row.names = launch.names;
    for (const std::string& quantity : quantities) add_value(parts, quantity, launch);
    if (launch.burn) parts.burn.add(launch, "");
  }
  parts.medians.insert(parts.medians.end(), launches.medians.begin(), launches.medians.end());
}

NodeRow finish(Parts& parts) {
  NodeRow& row = parts.row;
  if (row.status == "ok" && parts.environments.size() > 1) {
    row.status = "missing";
    row.reason = fmt::format(
        "its launches ran in {} environments that differ in hardware or software, so there is no "
        "single result: give runs of one environment",
        parts.environments.size());
  }
  if (row.status != "ok") return {row.names, row.status, row.reason, row.required};
  if (const double value = median(parts.medians); value > 0) row.value = value;
  if (row.value && parts.medians.size() > 1) {
    const Interval interval = compute_median_interval(parts.medians);
    row.low = interval.low;
    row.high = interval.high;
  }
  finish_burn(parts);
  for (auto& [name, quantity] : row.quantities)
    if (quantity.reason.empty() && !name.starts_with(of_burn))
      quantity.value =
          name == of_ceiling ? ratio_median(parts.values[name]) : median(parts.values[name]);
  return std::move(row);
}

/// Hosts that a gathered file lists as missing.
std::vector<std::string> missing_hosts(const RunHeader& run) {
  std::vector<std::string> hosts;
  for (const MissingNode& node : run.missing_nodes.value_or(std::vector<MissingNode>{}))
    hosts.push_back(node.host);
  return hosts;
}

class Builder {
 public:
  Builder(const Criteria& criteria, const PairsOfRuns& pairs)
      : criteria_(criteria), quantities_(quantities(criteria)), pairs_of_runs_(pairs) {
    for (const std::string& name : criteria.node_names) node(name);
  }

  void add(const std::string& name, RunResult& result) {
    const bool is_pair = pairs_of_runs_.results.contains(name);
    expect(missing_hosts(result.run));
    add_left_out(result);
    std::map<Parts*, LaunchGroups> launches;
    std::set<int> seen;  // environments
    for (Row& row : result.rows) {
      if (!criteria_.includes(row.id)) continue;
      if (row.published) {
        published_.insert(row.id);
        continue;
      }
      const ResultEnvironment& environment = result.environment(row);
      const std::string host = find_name(environment.host), key = environment.key();
      if (!is_expected(host)) {
        unexpected_.insert(host);
        continue;
      }
      const bool several = row.number("nodes") > 1;
      if (!several && seen.insert(row.environment).second)
        node(host).environments.push_back(environment);
      if (!several)
        for (const RowDeviceHealth& health : row.device_health)
          add_health(health, node(host).devices[health.device]);
      Parts& parts = several ? of_several(row, environment, is_pair) : node(host).rows[row.id];
      if (!several) note_threads(row);
      // Rows that are not ok may lack an environment, because their process may have died before
      // reporting it.
      if (row.is_ok()) parts.environments.insert(key);
      launches[&parts].add(std::move(row), key);
    }
    for (auto& [parts, groups] : launches)
      for (const Launches& group : groups.take()) add_launches(*parts, group, quantities_);
  }

  /// Nodes to which nothing was added have no result.
  void expect(const std::vector<std::string>& names) {
    if (!criteria_.node_names.empty()) return;
    for (const std::string& name : names) node(find_name(name));
  }

  Fleet fleet() {
    Fleet fleet;
    std::set<std::string> ids, supported;
    for (auto& [name, parts] : nodes_) {
      Node& node = fleet.nodes.emplace_back(
          Node{name, {}, std::move(parts.devices), std::move(parts.environments)});
      std::stable_sort(node.environments.begin(), node.environments.end(),
                       [](const ResultEnvironment& a, const ResultEnvironment& b) {
                         return read_field(a.volatile_before, "time") <
                                read_field(b.volatile_before, "time");
                       });
      for (auto& [id, row] : parts.rows) node.rows.emplace(id, finish(row));
    }
    for (const auto& [name, threads] : cases_)
      if (threads.size() > 1) adopt_most_threads(fleet, threads);
    for (auto& [id, parts] : multi_node_) fleet.multi_node.emplace(id, finish(parts));
    for (auto& [id, parts] : pairs_) {
      std::map<std::string, NodeRow> pairs;
      for (auto& [pair, own] : parts) pairs.emplace(pair, finish(own));
      add_pairs(fleet, id, pairs);
    }
    for (const std::string& pair : pairs_of_runs_.report_missing_result)
      fleet.unmeasured.push_back(split(pair, '+'));
    for (const Node& node : fleet.nodes)
      for (const auto& [id, row] : node.rows) {
        ids.insert(id);
        if (row.status != "unsupported" || row.required) supported.insert(id);
      }
    for (const std::string& id : published_)
      if (!ids.contains(id)) fleet.not_judged[id] = "published numbers are not measurements";
    for (const std::string& id : ids)
      if (!supported.contains(id))
        fleet.not_judged[id] = "unsupported on every node, and not required by the suite";
    fleet.ids.assign(supported.begin(), supported.end());
    for (Node& node : fleet.nodes) {
      for (const auto& [id, why] : fleet.not_judged) node.rows.erase(id);
      if (node.rows.empty()) continue;
      for (const std::string& id : fleet.ids)
        if (const auto [row, added] = node.rows.try_emplace(id); added)
          row->second.reason = no_such_row;
    }
    fleet.unexpected.assign(unexpected_.begin(), unexpected_.end());
    return fleet;
  }

 private:
  using Threads = std::map<std::string, std::string>;  ///< the numbers of threads by the id of a
                                                       ///< row

  void note_threads(const Row& row) {
    if (!known_ids_.insert(row.id).second) return;
    if (const std::string name = name_case(row); !name.empty())
      cases_[name][row.id] = row.parameter("threads");
  }

  /// If a node ran a case with a number of threads other than that of most nodes, replaces its ids
  /// by those of most nodes. `threads`: the numbers of threads of all ids of the case.
  static void adopt_most_threads(Fleet& fleet, const Threads& threads) {
    const auto ids_on = [&](const Node& node) {
      std::set<std::string> ids;
      for (const auto& [id, count] : threads)
        if (node.rows.contains(id)) ids.insert(id);
      return ids;
    };
    std::map<std::set<std::string>, std::size_t> counts;
    std::set<std::string> most;
    for (const Node& node : fleet.nodes)
      if (const std::set<std::string> own = ids_on(node);
          !own.empty() && ++counts[own] > (most.empty() ? 0 : counts[most]))
        most = own;
    for (Node& node : fleet.nodes) {
      const std::set<std::string> own = ids_on(node);
      std::vector<std::string> extra, lacking;
      std::set_difference(own.begin(), own.end(), most.begin(), most.end(),
                          std::back_inserter(extra));
      std::set_difference(most.begin(), most.end(), own.begin(), own.end(),
                          std::back_inserter(lacking));
      if (extra.empty() || lacking.empty()) continue;
      for (std::size_t i = 0; i < std::max(extra.size(), lacking.size()); ++i) {
        const std::string &ran = extra[std::min(i, extra.size() - 1)],
                          &id = lacking[std::min(i, lacking.size() - 1)];
        NodeRow& row = node.rows[id];
        const NodeRow& measured = node.rows.at(ran);
        row.names = measured.names;
        row.required |= measured.required;
        row.other_threads = true;
        if (row.reason.empty())
          row.reason = fmt::format("ran with {}, elsewhere with {}",
                                   counted_threads(threads.at(ran)), threads.at(id));
        // A row that is not ok counts for any number of threads.
        if (measured.status != "ok" &&
            find_row_gravity(measured.status) > find_row_gravity(row.status)) {
          row.status = measured.status;
          row.reason = measured.reason;
        }
      }
      for (const std::string& id : extra) node.rows.erase(id);
    }
  }

  static std::string counted_threads(const std::string& count) {
    return count + (count == "1" ? " thread" : " threads");
  }

  /// The row of a job on several nodes, or on a pair of them.
  Parts& of_several(const Row& row, const ResultEnvironment& environment, bool is_pair) {
    std::set<std::string> ends;
    for (const std::string& host : environment.rank_hosts) ends.insert(find_name(host));
    if (!is_pair || ends.size() != 2 ||
        !std::ranges::all_of(ends, [&](auto& end) { return is_expected(end); }))
      return multi_node_[row.id];
    return pairs_[row.id][*ends.begin() + "+" + *ends.rbegin()];
  }

  struct NodeParts {
    std::map<std::string, Parts> rows;
    std::map<std::string, DeviceRanges> devices;
    std::vector<ResultEnvironment> environments;
  };
  NodeParts& node(const std::string& name) {
    const auto [place, added] = nodes_.try_emplace(name);
    if (added) by_short_name_[short_name(name)].push_back(name);
    return place->second;
  }

  /// The name of the node that a host belongs to: the same name, or the name without its domain. A
  /// host that belongs to no known node keeps its own name.
  std::string find_name(const std::string& host) {
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

  bool is_expected(const std::string& name) const {
    return criteria_.node_names.empty() || nodes_.contains(name);
  }

  /// A case for which no node had time is reported: it is missing on each node.
  void add_left_out(const RunResult& result) {
    if (result.run.left_out.empty() || result.environments.empty()) return;
    const std::string host = find_name(result.environments.front().host);
    for (const std::string& id : result.run.left_out)
      if (is_expected(host) && criteria_.includes(id))
        if (NodeRow& row = node(host).rows[id].row; row.status == "missing")
          row.reason = "--walltime left no time for it";
  }

  const Criteria& criteria_;
  const std::set<std::string> quantities_;
  const PairsOfRuns& pairs_of_runs_;
  std::map<std::string, NodeParts> nodes_;
  std::map<std::string, std::vector<std::string>> by_short_name_;  ///< names of nodes
  std::map<std::string, std::string> names_, hosts_;  ///< node by host, and a host by its node
  std::set<std::string> unexpected_, published_, known_ids_;
  std::map<std::string, Threads> cases_;  ///< by name_case()
  std::map<std::string, Parts> multi_node_;
  std::map<std::string, std::map<std::string, Parts>> pairs_;  ///< by id, then by the pair's name
};

}  // namespace

KeepRow keep_for_acceptance(const Criteria& criteria) {
  return [&criteria, names = quantities(criteria)](Row& row, std::string_view, const RunResult&) {
    if (!criteria.includes(row.id)) return false;
    Row kept{row.id};
    kept.published = row.published;
    kept.names = std::move(row.names);
    kept.environment = row.environment;
    kept.launch = row.launch;
    kept.attempt = row.attempt;
    kept.required = row.required;
    kept.status = std::move(row.status);
    kept.reason = std::move(row.reason);
    for (const auto& [name, rate] : row.rates)
      if (names.contains(name)) kept.rates[name] = rate;
    for (const auto& [name, metric] : row.metrics)
      if (names.contains(name)) kept.metrics[name] = metric;
    if (names.contains(of_ceiling)) {
      kept.ceiling = std::move(row.ceiling);
      kept.ceiling_reason = std::move(row.ceiling_reason);
    }
    kept.burn = std::move(row.burn);
    if (names.contains(of_blame)) kept.blame = std::move(row.blame);
    if (!criteria.devices.empty()) kept.device_health = std::move(row.device_health);
    if (was_disturbed(row)) {
      kept.time_s = std::move(row.time_s);
      kept.device_state = std::move(row.device_state);
      kept.parameters = std::move(row.parameters);
    } else {
      if (row.time_s) kept.time_s = RowTime{row.time_s->median};
      for (const char* name : {"nodes", "threads"})
        if (const auto value = row.parameters.find(name); value != row.parameters.end())
          kept.parameters[name] = value->second;
    }
    row = std::move(kept);
    return true;
  };
}

Fleet make_fleet(std::vector<NamedResult> results, const Criteria& criteria,
                 const std::vector<std::string>& listed, const PairsOfRuns& pairs) {
  Builder builder(criteria, pairs);
  std::map<std::string, std::string> runs;  // id → file
  for (NamedResult& named : results) {
    const std::string& id = named.result.run.id;
    const auto [earlier, added] = runs.emplace(id, named.name);
    if (!added)
      throw InputError(fmt::format(
          "{} and {} are both results of run {} (its launches would count twice). Give only "
          "one of them.",
          earlier->second, named.name, id));
    builder.add(named.name, named.result);
    named.result = {};  // rows take much memory
  }
  builder.expect(listed);
  return builder.fleet();
}

}  // namespace assay
