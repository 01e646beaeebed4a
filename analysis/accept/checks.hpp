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

/// Other nodes that a relative criterion needs: of two nodes alone it is unknown which is slow.
inline constexpr std::size_t least_others = 2;
/// The reason of a node without any of the judged rows.
inline constexpr const char* no_result = "the node has no result";
/// The reason at each row and node of a fleet with too few nodes; the reason of the fleet itself
/// gives the details.
inline constexpr const char* too_few_nodes = "too few nodes to compare with each other";
/// The reason at each row of a node whose environment differs; a finding of the node says how.
inline constexpr const char* other_environment =
    "its hardware or software is not that of most nodes";
/// True if a finding is of all rows alike, and is told once: of the fleet or of the node.
inline bool is_told_once(const std::string& reason) {
  return reason == too_few_nodes || reason == other_environment;
}
/// Begins the reason of NOT-COMPARABLE.
inline constexpr const char* not_comparable_text = "not comparable: ";
/// Nodes of which a deviation is reported: of fewer, the spread of the others is chance.
inline constexpr std::size_t least_for_deviation = 5;

/// They are ordered from the mildest to the most severe: a fault that noise cannot explain is more
/// severe than noise. unknown: a state that is not required; it counts as a pass. not_comparable:
/// hardware, software or threads are not those of most nodes.
enum class NodeVerdict { unknown, pass, not_quiet, perf_fail, missing, not_comparable, incorrect };
inline const NameTable<NodeVerdict> verdict_names({"unknown", "PASS", "NOT-QUIET", "PERF-FAIL",
                                                   "MISSING", "NOT-COMPARABLE", "INCORRECT"});
/// 0, 0, 5, 4, 6, 6 and 3.
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
  std::optional<double> deviation;  ///< from it, of the logarithms, in units of 1.4826 * MAD
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
