// The fields of a comparison in JSON.

#include "analysis/compare/comparison.hpp"
#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(LaunchStage, {{LaunchStage::screen, "screen"},
                                           {LaunchStage::confirmed, "confirmed"}})

template <>
struct fields::Form<Verdict> {
  static void read(const json& name, Verdict& verdict) {
    verdict = compare_verdicts.at(name.get<std::string>());
  }
  static json write(Verdict verdict) { return compare_verdicts[verdict]; }
};

static void visit_fields(SameAs<SideTimes> auto& side, auto& fields) {
  fields.always("median", side.median, "launches", side.launches);
  fields.nullable("variation", side.variation);
  fields.always("shared", side.shared, "throttled", side.throttled);
}

static void visit_fields(SameAs<TimeRatio> auto& times, auto& fields) {
  fields.always("ratio", times.ratio);
  fields.nullable("interval", times.interval, "p", times.p);
}

static void visit_fields(SameAs<ComparedRow> auto& row, auto& fields) {
  fields.always("id", row.id, "names", row.names, "unit", row.unit);
  fields.always("base", row.base, "new", row.updated);
  visit_fields(row.times, fields);
  fields.nullable("speedup", row.speedup, "speedup_interval", row.speedup_interval);
  fields.nullable("p_limit", row.p_limit, "minimum_detectable", row.minimum_detectable);
  fields.always("tolerance", row.tolerance, "stage", row.stage, "flagged", row.flagged);
  fields.always("detected", row.detected);
  fields.nullable("screen", row.screen, "verdict", row.verdict, "reason", row.reason);
  fields.always("published", row.published, "notes", row.notes);
}

static void visit_fields(SameAs<Entry> auto& entry, auto& fields) {
  fields.always("id", entry.id);
  fields.optional("names", entry.names, "status", entry.status, "base_status", entry.base_status);
  fields.optional("new_status", entry.new_status, "reason", entry.reason);
}

static void visit_fields(SameAs<MeanSpeedup> auto& mean, auto& fields) {
  fields.always("speedup", mean.speedup);
  fields.nullable("interval", mean.interval, "interval_reason", mean.interval_reason);
  fields.always("rows", mean.rows, "of", mean.base_rows);
}

static void visit_fields(SameAs<SideSummary> auto& side, auto& fields) {
  fields.always("name", side.name, "system", side.system, "files", side.files);
}

static void visit_fields(SameAs<Mismatch> auto& mismatch, auto& fields) {
  fields.always("field", mismatch.field, "base", mismatch.base, "new", mismatch.updated);
  fields.always("rows", mismatch.rows);
}

static void visit_fields(SameAs<Comparison::Settings> auto& settings, auto& fields) {
  fields.always("false_alarm_rate", settings.false_alarm_rate, "tolerance", settings.tolerance);
  fields.always("confidence", settings.confidence, "screen_p", settings.screen_p);
  fields.always("flagged", settings.flagged);
  fields.nullable("confirmed_p", settings.confirmed_p);
  fields.always("power", settings.power);
}

static void visit_fields(SameAs<Comparison> auto& comparison, auto& fields) {
  fields.always("schema", comparison.schema, "command", comparison.command);
  fields.always("base", comparison.base, "new", comparison.updated);
  fields.nullable("fresh_base", comparison.fresh_base, "fresh_new", comparison.fresh_new);
  fields.always("vary", comparison.vary, "allow_mismatch", comparison.allow_mismatch);
  fields.always("refused", comparison.refused, "mismatches", comparison.mismatches);
  fields.always("notes", comparison.notes, "stage", comparison.stage);
  fields.always("settings", comparison.settings, "rows", comparison.rows);
  fields.always("only_base", comparison.only_base, "only_new", comparison.only_new);
  fields.always("not_compared", comparison.not_compared, "lost", comparison.lost);
  fields.nullable("geometric_mean", comparison.geometric_mean);
  fields.nullable("geometric_mean_reason", comparison.geometric_mean_reason);
  fields.always("summary", comparison.summary, "exit_code", comparison.exit_code);
}

void to_json(json& document, const Comparison& comparison) { document = write_fields(comparison); }
void from_json(const json& document, Comparison& comparison) { read_fields(document, comparison); }

}  // namespace assay
