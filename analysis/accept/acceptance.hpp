#pragma once
// Whether each node of a fleet delivers what was promised.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/accept/criteria.hpp"
#include "analysis/accept/fleet.hpp"

namespace assay {

/// Other nodes that a relative criterion needs: of two nodes nobody can say which is the odd one.
inline constexpr std::size_t least_others = 2;

/// The document of acceptance.schema.json. A row is slower than the fleet where the lower end of
/// its launches' interval (their range below 6 launches) is above the limit: the limit is a
/// contract, and only the measurement's own error counts in the node's favour, not the spread of
/// the fleet, which a bad fleet would widen. The fleet is the median of the *other* nodes, so that
/// no node hides in its own reference. What cannot be judged is MISSING, never PASS.
/// exit_code: 3 INCORRECT, 7 a row failed or timed out (or a required one is unsupported), 6
/// MISSING or a criterion of the fleet is unmet, 4 PERF-FAIL.
nlohmann::json acceptance_document(const Fleet& fleet, const Criteria& criteria,
                                   const std::string& command);

/// The state of a node before and after, against the criteria: the node's "health".
nlohmann::json health_of(const Node& node, const Criteria& criteria);
/// Findings where hardware or software of a node are not what most of the fleet has: such numbers
/// are not comparable. One list a node, in the order of the nodes.
std::vector<nlohmann::json> strangers(const Fleet& fleet);

/// JUnit XML: a testsuite a node, a testcase a row and criterion; failure: PERF-FAIL and INCORRECT;
/// error: what could not be judged; skipped: an unknown state that nothing requires.
std::string junit_xml(const nlohmann::json& document);

/// The document for people.
std::string render_acceptance(const nlohmann::json& document, bool markdown);

}  // namespace assay
