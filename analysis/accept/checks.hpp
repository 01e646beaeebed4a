#pragma once
// One criterion against one row of one node.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/accept/criteria.hpp"
#include "analysis/accept/fleet.hpp"
#include "core/base/error.hpp"

namespace assay {

/// Other nodes that a relative criterion needs: of two nodes nobody can say which is the odd one.
inline constexpr std::size_t least_others = 2;

namespace verdict {
inline constexpr const char* pass = "PASS";
inline constexpr const char* not_quiet = "NOT-QUIET";
inline constexpr const char* perf_fail = "PERF-FAIL";
inline constexpr const char* missing = "MISSING";
inline constexpr const char* incorrect = "INCORRECT";
inline constexpr const char* unknown = "unknown";  ///< of a state that nothing requires

/// 0 to 4 in the order above, which is that of the exit codes 0, 5, 4, 6, 3. A fault that noise
/// cannot explain stands before noise.
int gravity(const std::string& verdict);
ExitCode code_of(const std::string& verdict);
}  // namespace verdict

/// {criterion, value, limit, verdict, reason}
nlohmann::json check(const std::string& criterion, const nlohmann::json& value,
                     const nlohmann::json& limit, const char* verdict,
                     const nlohmann::json& reason);

/// Where one of `values` stands among the others.
struct Standing {
  std::optional<double> others;     ///< their median
  std::optional<double> deviation;  ///< on logarithms, in 1.4826 of their MAD
};
Standing standing(const std::vector<double>& values, std::size_t index);

/// Of a row with a number. Value and limit of the relative one are times over the other nodes'.
nlohmann::json absolute_check(const NodeRow& row, const AbsoluteRule& rule);
nlohmann::json relative_check(const NodeRow& row, const RelativeRule& rule, const Standing& place);

/// What fails, or is undecided, for speed alone, while other work wanted the processors, is no
/// finding of the node: it is NOT-QUIET, for the reason given.
void excuse(nlohmann::json& check, const std::string& noise);

}  // namespace assay
