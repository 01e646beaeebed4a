#include "analysis/accept/acceptance.hpp"
#include "analysis/repeat_command.hpp"
#include "core/base/json_fields.hpp"

namespace assay {

static void visit_fields(SameAs<Check> auto& check, auto& fields) {
  fields.always("criterion", check.criterion, "verdict", check.verdict);
  fields.nullable("value", check.value, "limit", check.limit, "reason", check.reason);
}

static void visit_fields(SameAs<JudgedRow> auto& row, auto& fields) {
  fields.always("id", row.id, "names", row.names, "status", row.status, "launches", row.launches);
  fields.nullable("value", row.value, "low", row.low, "high", row.high);
  fields.nullable("fleet_median", row.fleet_median, "ratio", row.ratio, "speedup", row.speedup);
  fields.nullable("deviation", row.deviation, "limit", row.limit, "reason", row.reason);
  fields.always("disturbed", row.disturbed, "throttled", row.throttled);
  fields.always("verdict", row.verdict, "checks", row.checks);
}

static void visit_fields(SameAs<Health> auto& health, auto& fields) {
  fields.always("before", health.before, "after", health.after, "findings", health.findings);
}

static void visit_fields(SameAs<JudgedNode> auto& node, auto& fields) {
  fields.always("node", node.node, "verdict", node.verdict, "health", node.health);
  fields.nullable("reason", node.reason, "score", node.score, "speedup", node.speedup);
  fields.always("rows", node.rows, "rows_missing", node.rows_missing);
}

static void visit_fields(SameAs<Acceptance::CriteriaFile> auto& criteria, auto& fields) {
  fields.always("name", criteria.name, "file", criteria.file);
  fields.always("sha256", criteria.sha256, "content", criteria.content);
}

static void visit_fields(SameAs<HashedFile> auto& result, auto& fields) {
  fields.always("file", result.file, "sha256", result.sha256);
}

static void visit_fields(SameAs<Acceptance::Limit> auto& limit, auto& fields) {
  fields.always("criterion", limit.criterion, "of", limit.unit, "met", limit.met);
  fields.always("judged", limit.judged, "unknown", limit.unknown);
}

static void visit_fields(SameAs<Acceptance::Case> auto& judged, auto& fields) {
  fields.always("id", judged.id, "names", judged.names);
}

static void visit_fields(SameAs<Acceptance::Straggler> auto& straggler, auto& fields) {
  fields.always("node", straggler.node, "score", straggler.score, "speedup", straggler.speedup);
  fields.always("rank", straggler.rank);
  fields.nullable("deviation", straggler.deviation);
}

static void visit_fields(SameAs<Acceptance::UnmetCriterion> auto& unmet, auto& fields) {
  fields.always("criterion", unmet.criterion, "reason", unmet.reason, "verdict", unmet.verdict);
}

static void visit_fields(SameAs<Acceptance::UnmatchedCriterion> auto& unmatched, auto& fields) {
  fields.always("criterion", unmatched.criterion, "reason", unmatched.reason);
}

static void visit_fields(SameAs<Acceptance::UnjudgedRow> auto& row, auto& fields) {
  fields.always("id", row.id, "reason", row.reason);
}

static void visit_fields(SameAs<Acceptance::Summary> auto& summary, auto& fields) {
  fields.always("nodes", summary.nodes, "pass", summary.pass, "not_quiet", summary.not_quiet);
  fields.always("perf_fail", summary.perf_fail, "missing", summary.missing);
  fields.always("not_comparable", summary.not_comparable, "incorrect", summary.incorrect);
}

static void visit_fields(SameAs<Acceptance> auto& acceptance, auto& fields) {
  fields.always("command", acceptance.command, "criteria", acceptance.criteria);
  fields.always("results", acceptance.results, "limits", acceptance.limits);
  fields.always("verdict", acceptance.verdict, "exit_code", acceptance.exit_code);
  fields.nullable("reason", acceptance.reason, "not_compared", acceptance.not_compared);
  fields.nullable("next", acceptance.next);
  fields.always("judged", acceptance.judged, "nodes", acceptance.nodes);
  fields.always("stragglers", acceptance.stragglers, "unmet", acceptance.unmet);
  fields.always("optional_unmatched", acceptance.optional_unmatched);
  fields.always("unexpected", acceptance.unexpected, "not_judged", acceptance.not_judged);
  fields.always("summary", acceptance.summary);
}

void to_json(nlohmann::json& document, const Acceptance& acceptance) {
  document = write_fields(acceptance);
  document["schema"] = "assay-acceptance/1";
}
void from_json(const nlohmann::json& document, Acceptance& acceptance) {
  read_fields(document, acceptance);
}

std::string next_command(const Acceptance& acceptance, const std::vector<std::string>& files) {
  const JudgedNode* gravest = nullptr;
  for (const JudgedNode& node : acceptance.nodes)
    if (node.verdict != NodeVerdict::pass && node.reason != no_result &&
        (gravest == nullptr || std::pair(node.verdict, node.score.value_or(0)) >
                                   std::pair(gravest->verdict, gravest->score.value_or(0))))
      gravest = &node;
  if (gravest == nullptr) return "";
  std::string command = "assay table";
  for (const std::string& file : files) command += " " + shell_word(file);
  return command + " --filter " + shell_word("host=" + gravest->node) + " --columns id,time,repeat";
}

}  // namespace assay
