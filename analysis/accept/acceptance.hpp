#pragma once
// The document of `assay accept` (results-schema/acceptance.schema.json describes its fields):
// whether each node of a fleet meets the criteria. It is computed and rendered here.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/accept/checks.hpp"
#include "analysis/accept/criteria.hpp"
#include "analysis/accept/file_hash.hpp"
#include "analysis/accept/fleet.hpp"
#include "core/base/error.hpp"

namespace assay {

/// A number without a value is unknown. `reason` is that of the verdict.
struct JudgedRow : NodeRow {
  std::string id{};
  std::optional<double> fleet_median{}, ratio{}, speedup{}, deviation{}, limit{};
  NodeVerdict verdict = NodeVerdict::pass;
  std::vector<Check> checks{};
};

/// The states of a node before and after the run (objects, null if unknown), and their checks.
struct Health {
  nlohmann::json before{}, after{};
  std::vector<Check> findings{};
};

struct JudgedNode {
  std::string node;
  NodeVerdict verdict = NodeVerdict::pass;
  std::string reason{};
  std::optional<double> score{}, speedup{};
  std::vector<JudgedRow> rows{};
  std::size_t rows_missing = 0;
  Health health{};
};

struct Acceptance {
  struct CriteriaFile {
    std::string name{}, file{}, sha256{};
    nlohmann::json content = nullptr;  ///< of the file
  };
  /// A limit of the criteria, and how many rows or nodes met it. `unknown`: those of the rest whose
  /// state is not reported.
  struct Limit {
    std::string criterion, unit;  ///< unit: "row" or "node"
    std::size_t met = 0, judged = 0, unknown = 0;
  };
  struct Case {
    std::string id;
    std::vector<std::string> names{};
  };
  struct Straggler {
    std::string node;
    double score = 0, speedup = 0;
    std::size_t rank = 0;  ///< 1 is the slowest
    std::optional<double> deviation{};
  };
  struct UnmetCriterion {
    std::string criterion, reason;
    NodeVerdict verdict = NodeVerdict::missing;
  };
  struct UnmatchedCriterion {
    std::string criterion, reason;
  };
  struct UnjudgedRow {
    std::string id, reason;
  };
  struct Summary {
    std::size_t nodes = 0, pass = 0, not_quiet = 0, perf_fail = 0, missing = 0, not_comparable = 0,
                incorrect = 0;
  };

  std::string command{};
  CriteriaFile criteria{};
  std::vector<HashedFile> results{};  ///< the files that were read
  std::vector<Limit> limits{};
  NodeVerdict verdict = NodeVerdict::pass;
  std::string reason{}, not_compared{};
  std::string next{};  ///< the command that shows the rows of the node with the most severe
                       ///< verdict; "" if all passed
  std::vector<Case> judged{};
  std::vector<JudgedNode> nodes{};
  std::vector<Straggler> stragglers{};
  std::vector<UnmetCriterion> unmet{};
  std::vector<UnmatchedCriterion> optional_unmatched{};
  std::vector<std::string> unexpected{};
  std::vector<UnjudgedRow> not_judged{};
  Summary summary{};
  ExitCode exit_code = ExitCode::ok;
};
void to_json(nlohmann::json& document, const Acceptance& acceptance);
/// json::exception if a field has another type; files are checked before.
void from_json(const nlohmann::json& document, Acceptance& acceptance);

/// A row is slower than the fleet if the lower end of the interval of its launches (for fewer than
/// 6 launches, of their range) is above the limit. The limit is a contract: only the error of the
/// measurement counts in favour of the node, not the spread of the fleet, which a bad fleet would
/// widen. The reference is the median of the other nodes, so that a node is not part of its own
/// reference. A node whose hardware or software differs from that of most nodes is NOT-COMPARABLE,
/// and its times are excluded from the reference of the others. A row that cannot be judged is
/// MISSING, never PASS. A slow row is NOT-QUIET instead of PERF-FAIL if the machine was not quiet,
/// by its state or by the mark of the row, or if power or heat throttled its device: the node must
/// be measured again. exit_code: 3 INCORRECT; 7 a row failed or timed out, or a required row is
/// unsupported; 6 MISSING, NOT-COMPARABLE, or a criterion of the fleet is not met; 4 PERF-FAIL; 5
/// NOT-QUIET.
Acceptance judge_fleet(const Fleet& fleet, const Criteria& criteria, const std::string& command);

/// The command that shows the rows of the node with the most severe verdict, and how to repeat
/// each; "" if no node with rows failed. `files`: the files that were judged.
std::string next_command(const Acceptance& acceptance, const std::vector<std::string>& files);

/// The states of a node, checked by the criteria.
Health judge_health(const Node& node, const Criteria& criteria);
/// The state of this machine, as judge_health() reads it, with all names that this version reports.
nlohmann::json present_state();
/// True if the quantity of a rule is a number or boolean in one of the states, or unknown (null),
/// so that the rule has judged something. InputError with `where` if it has another type, or if no
/// state has the name and the rule is not optional.
bool is_state_name(const HealthRule& rule, const std::vector<const nlohmann::json*>& states,
                   const std::string& where);
/// Checks that the hardware and software of each node are those of most nodes; otherwise its
/// results are not comparable. Returns a list for each node, in the order of the nodes, with a
/// finding for each difference.
std::vector<std::vector<Check>> compare_environments(const Fleet& fleet);
/// The finding for a node that ran cases with a number of threads other than that of most nodes;
/// nothing for other nodes.
std::optional<Check> compare_threads(const Node& node);

/// The findings of a node, each as a sentence: those of its environment, then the most severe ones.
std::vector<std::string> list_finding_texts(const JudgedNode& node);

/// JUnit XML with a testsuite per node and a testcase per row and criterion. failure: PERF-FAIL and
/// INCORRECT; error: MISSING and NOT-QUIET; skipped: an unknown state that is not required.
std::string render_junit_xml(const Acceptance& acceptance);

/// The document as text, for people.
std::string render_acceptance(const Acceptance& acceptance, bool markdown);

}  // namespace assay
