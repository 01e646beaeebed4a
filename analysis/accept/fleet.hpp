#pragma once
// The results of a fleet, by node.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/accept/criteria.hpp"
#include "analysis/series.hpp"
#include "core/result/row_reader.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// NodeRow::reason of a row that only other nodes have.
inline constexpr const char* no_such_row = "the node does not have this row";

/// A row id on a node, for all launches together.
struct NodeRow {
  struct Quantity {
    std::optional<double> value;
    std::string reason{};         ///< why a launch does not have it
    std::optional<double> low{};  ///< of its interval, if it has one
    std::string who{};            ///< the rank or link of the greatest value, in the launch with
                                  ///< the greatest
  };
  std::vector<std::string> names{};
  std::string status = "missing", reason{};  ///< the most severe of its launches
  bool required = false;
  bool other_threads = false;  ///< missing, because the node ran the case with another number of
                               ///< threads
  // Without a value unless status is ok:
  std::size_t launches = 0;
  /// Median of the launches' medians in seconds, above 0; the interval of the launches, or their
  /// range. A single launch has neither.
  std::optional<double> value{}, low{}, high{};
  bool disturbed = false, throttled = false;  ///< true if it holds for a launch while it was timed
  std::string pair{};     ///< the pair of nodes whose row this is: the best of the node's `pairs`
  std::size_t pairs = 0;  ///< 0: the node measured the row alone
  std::map<std::string, Quantity> quantities{};  ///< medians, by the names in absolute criteria
};

/// The least and the greatest value of each quantity that a device reported in the rows of a node.
using DeviceRanges = std::map<std::string, Interval>;
/// Adds the report of a row on its device: values, counters and their sums.
void add_health(const RowDeviceHealth& health, DeviceRanges& ranges);

struct Node {
  std::string name;  ///< environments[].host
  std::map<std::string, NodeRow> rows;
  std::map<std::string, DeviceRanges> devices;  ///< by RowDeviceHealth::device
  std::vector<ResultEnvironment> environments;  ///< of the rows that are judged, by time
};

/// The pairs of nodes that `assay run --pairs` listed beside its results (pair_rows.hpp).
struct PairsOfRuns {
  std::set<std::string> results{};                ///< names of their results (NamedResult::name)
  std::set<std::string> report_missing_result{};  ///< "n1+n2" of the pairs without a result
};

struct Fleet {
  /// A row that two nodes measured as one of several pairs. `expected`: the time of the slower node
  /// in its best pair, or of a typical pair if that is longer; 0 if no pair has a time.
  struct Path {
    std::string id;
    std::vector<std::string> ends;
    NodeRow row;
    double expected = 0;
  };
  std::vector<Node> nodes;              ///< by name
  std::vector<std::string> unexpected;  ///< nodes that the criteria do not name; not in nodes
  std::map<std::string, std::string> not_judged;  ///< id → why it is not judged
  std::vector<std::string> ids;                   ///< row ids that are judged, sorted
  /// Rows of jobs on several nodes: they belong to no single node and are judged on their own.
  std::map<std::string, NodeRow> multi_node;
  std::vector<Path> paths{};
  std::vector<std::vector<std::string>> unmeasured{};  ///< ends of pairs without a result
};

/// Keeps of each row what make_fleet() needs. `criteria` must outlive it.
KeepRow keep_for_acceptance(const Criteria& criteria);

/// A node with any judged row has an entry for each judged row; the status is "missing" if it lacks
/// the row. If a node ran a case with another number of threads than most nodes, the row counts for
/// the row of most nodes, which is missing on this node; other nodes need not have the node's own
/// row. If several of `pairs` ran a row, a node gets the row of its best pair (pair_rows.hpp). Two
/// nodes in a result that is not listed there ran a job of several nodes. A node without any judged
/// row has no entry, because thousands of nodes may be missing. Nodes that the criteria name are
/// included even without results; if they name none, so are those of `listed`, and those that a
/// gathered file lists as missing. InputError for a run that is given twice.
Fleet make_fleet(std::vector<NamedResult> results, const Criteria& criteria,
                 const std::vector<std::string>& listed = {}, const PairsOfRuns& pairs = {});

}  // namespace assay
