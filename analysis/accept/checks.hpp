#pragma once
// A criterion applied to a row of a node.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/accept/criteria.hpp"
#include "analysis/accept/fleet.hpp"
#include "core/base/error.hpp"

namespace assay {

/// Other nodes that a relative criterion needs: of two nodes alone it is unknown which is slow.
inline constexpr std::size_t least_others = 2;
/// The reason of a node without any of the judged rows.
inline constexpr const char* no_result = "the node has no result";
/// The reason at each row and node of a fleet with too few nodes; the reason of the fleet itself
/// gives the details.
inline constexpr const char* too_few_nodes = "too few nodes to compare with each other";

namespace verdict {
inline constexpr const char* pass = "PASS";
inline constexpr const char* not_quiet = "NOT-QUIET";
inline constexpr const char* perf_fail = "PERF-FAIL";
inline constexpr const char* missing = "MISSING";
inline constexpr const char* incorrect = "INCORRECT";
inline constexpr const char* unknown = "unknown";  ///< a state that is not required

/// 0 (pass) to 4 (incorrect) in the order above; the exit codes are 0, 5, 4, 6, 3. A fault that
/// noise cannot explain is more severe than noise.
int severity(const std::string& verdict);
ExitCode code_of(const std::string& verdict);
}  // namespace verdict

/// {criterion, value, limit, verdict, reason}
nlohmann::json check(const std::string& criterion, const nlohmann::json& value,
                     const nlohmann::json& limit, const char* verdict,
                     const nlohmann::json& reason);

/// A value compared with those of the other nodes.
struct Standing {
  std::optional<double> others;     ///< median of the other values
  std::optional<double> deviation;  ///< from it, of the logarithms, in units of 1.4826 * MAD
};
Standing standing(const std::vector<double>& values, std::size_t index);
/// The same for every value; the values are sorted only once.
std::vector<Standing> standings(const std::vector<double>& values);

/// Checks a row that has a result. Value and limit of a relative check are ratios of times: the
/// node's over the median of the other nodes.
nlohmann::json absolute_check(const NodeRow& row, const AbsoluteRule& rule);
nlohmann::json relative_check(const NodeRow& row, const RelativeRule& rule,
                              const Standing& position);

/// Turns a check that failed or is undecided because of its speed into NOT-QUIET, with `noise` as
/// the reason. Other checks stay as they are.
void allow_for_noise(nlohmann::json& check, const std::string& noise);

}  // namespace assay
