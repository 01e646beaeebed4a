#pragma once
// Whether each node of a fleet delivers what was promised.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/accept/criteria.hpp"
#include "analysis/accept/fleet.hpp"

namespace assay {

/// The document of acceptance.schema.json. A row is slower than the fleet where the lower end of
/// its launches' interval (their range below 6 launches) is above the limit: the limit is a
/// contract, and only the measurement's own error counts in the node's favour, not the spread of
/// the fleet, which a bad fleet would widen. The fleet is the median of the *other* nodes, so that
/// no node hides in its own reference. What cannot be judged is MISSING, never PASS. Slow is no
/// failure where the machine was not quiet, by its state or by the row's own mark: NOT-QUIET asks
/// for a repetition, and is no PASS either.
/// exit_code: 3 INCORRECT, 7 a row failed or timed out (or a required one is unsupported), 6
/// MISSING or a criterion of the fleet is unmet, 4 PERF-FAIL, 5 NOT-QUIET.
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
