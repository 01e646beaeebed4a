#pragma once
// The document of `assay accept` (results-schema/acceptance.schema.json), made and rendered:
// whether each node of a fleet meets the criteria.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/accept/criteria.hpp"
#include "analysis/accept/fleet.hpp"

namespace assay {

/// A row is slower than the fleet if the lower end of the interval of its launches (their range
/// below 6 launches) is above the limit. The limit is a contract: only the error of the measurement
/// counts in favour of the node, not the spread of the fleet, which a bad fleet would widen. The
/// reference is the median of the other nodes, so that a node is not part of its own reference.
/// What cannot be judged is MISSING, never PASS. A slow row is NOT-QUIET instead of PERF-FAIL if
/// the machine was not quiet, by its state or by the mark of the row, or if power or heat throttled
/// its device: the node must be measured again. exit_code: 3 INCORRECT; 7 a row failed or timed
/// out, or a required row is unsupported; 6 MISSING, or a criterion of the fleet is not met; 4
/// PERF-FAIL; 5 NOT-QUIET.
nlohmann::json acceptance_document(const Fleet& fleet, const Criteria& criteria,
                                   const std::string& command);

/// The "health" of a node in the document: its states before and after the run, and the checks of
/// these by the criteria.
nlohmann::json health_of(const Node& node, const Criteria& criteria);
/// The state of this machine as health_of() gives it: all names that this version reports.
nlohmann::json present_state();
/// Whether the quantity of a rule is a number or boolean in one of the states, or unknown (null):
/// only then the rule has judged something. InputError with `where` if it is of another kind, or if
/// no state has such a name and the rule is not optional.
bool names_a_state(const HealthRule& rule, const std::vector<const nlohmann::json*>& states,
                   const std::string& where);
/// Findings where the hardware or software of a node differs from that of most nodes, so that its
/// results are not comparable. A list for each node, in the order of the nodes.
std::vector<nlohmann::json> differences_from_fleet(const Fleet& fleet);

/// JUnit XML with a testsuite per node and a testcase per row and criterion. failure: PERF-FAIL and
/// INCORRECT; error: MISSING and NOT-QUIET; skipped: an unknown state that is not required.
std::string junit_xml(const nlohmann::json& document);

/// The document as text, for people.
std::string render_acceptance(const nlohmann::json& document, bool markdown);

}  // namespace assay
