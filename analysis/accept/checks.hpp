#pragma once
// A criterion applied to a row of a node.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/accept/criteria.hpp"
#include "analysis/accept/fleet.hpp"
#include "core/base/error.hpp"
#include "core/base/name_table.hpp"

namespace assay {

/// Number of other nodes that a relative criterion needs: with two nodes in all, it is unknown
/// which one is slow.
inline constexpr std::size_t least_others = 2;
/// The reason of a node without any of the judged rows.
inline constexpr const char* no_result = "the node has no result";
/// The reason at each row and node of a fleet with too few nodes. The reason of the fleet itself
/// has the details.
inline constexpr const char* too_few_nodes = "too few nodes to compare with each other";
/// The reason at each row of a node whose environment differs; a finding of the node has the
/// details.
inline constexpr const char* other_environment =
    "its hardware or software is not that of most nodes";
/// True if a finding is the same for all rows, and is reported once: for the fleet or for the node.
inline bool is_told_once(const std::string& reason) {
  return reason == too_few_nodes || reason == other_environment;
}
/// The text with which reasons of NOT-COMPARABLE begin.
inline constexpr const char* not_comparable_text = "not comparable: ";
/// Number of nodes from which on a deviation is reported: with fewer, the spread of the others is
/// random.
inline constexpr std::size_t least_for_deviation = 5;

/// Ordered from the mildest to the most severe: a fault that noise cannot explain is more severe
/// than noise. unknown: a state that is not required; it counts as a pass. not_comparable:
/// hardware, software or threads differ from those of most nodes.
enum class NodeVerdict { unknown, pass, not_quiet, perf_fail, missing, not_comparable, incorrect };
inline const NameTable<NodeVerdict> verdict_names({"unknown", "PASS", "NOT-QUIET", "PERF-FAIL",
                                                   "MISSING", "NOT-COMPARABLE", "INCORRECT"},
                                                  "verdict");
/// In the order of the verdicts: 0, 0, 5, 4, 6, 6 and 3.
ExitCode exit_code(NodeVerdict verdict);
void to_json(nlohmann::json& name, NodeVerdict verdict);
void from_json(const nlohmann::json& name, NodeVerdict& verdict);

/// A criterion and its verdict. Value and limit have the unit of the criterion's quantity.
struct Check {
  std::string criterion;
  std::optional<double> value{}, limit{};
  NodeVerdict verdict = NodeVerdict::pass;
  std::string reason{};  ///< "" of a pass
};

/// A value compared with those of the other nodes.
struct Standing {
  std::optional<double> others;     ///< median of the other values
  std::optional<double> deviation;  ///< its distance from the median, in logarithms, in units of
                                    ///< 1.4826 * MAD
};
/// The standing of each value; without numbers if there are at most least_others values, and
/// without deviation if there are fewer than least_for_deviation. The values are sorted only once.
std::vector<Standing> standings(const std::vector<double>& values);

/// Checks a row that has a result. Value and limit of a relative check are ratios of times: the
/// node's over the median of the other nodes.
Check check_absolute(const NodeRow& row, const AbsoluteRule& rule);
Check check_relative(const NodeRow& row, const RelativeRule& rule, const Standing& position);

/// Turns each check that failed or is undecided because of its speed into NOT-QUIET, with `noise`
/// as the reason; "" excuses nothing. Other checks stay as they are.
void allow_for_noise(std::vector<Check>& checks, const std::string& noise);

}  // namespace assay
