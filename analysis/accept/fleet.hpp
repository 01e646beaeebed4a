#pragma once
// Results by node.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/accept/criteria.hpp"
#include "analysis/series.hpp"

namespace assay {

/// One row id on one node, all its launches.
struct NodeRow {
  std::vector<std::string> names;
  std::string status = "missing", reason;  ///< the gravest of its launches'
  bool required = false;
  std::vector<nlohmann::json> launches;  ///< only where status is ok
  double value = 0;                      ///< median of the launches' medians, seconds
  std::optional<Interval> spread;        ///< of the launches; nothing with one
};

struct Node {
  std::string name;  ///< environments[].host
  std::map<std::string, NodeRow> rows;
  std::vector<nlohmann::json> environments;  ///< of the rows that count, by time
};

struct Fleet {
  std::vector<Node> nodes;              ///< by name
  std::vector<std::string> unexpected;  ///< names that the criteria do not hold; not in nodes
  std::map<std::string, std::string> not_judged;  ///< id → why it counts for nothing
  std::vector<std::string> ids;                   ///< that count, sorted
  /// Rows that several nodes ran as one job: they are of no node, and judged by themselves.
  std::map<std::string, NodeRow> together;
};

/// Every node has an entry for every id that counts, of status "missing" where it has no such row.
/// Nodes that the criteria name are there even without any. InputError for one run given twice.
Fleet fleet_of(const std::vector<NamedResult>& results, const Criteria& criteria);

}  // namespace assay
