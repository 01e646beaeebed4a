// The fields of a comparison in JSON.

#include "analysis/compare/comparison.hpp"
#include "core/result/json_fields.hpp"

namespace assay {

using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(Stage, {{Stage::screen, "screen"}, {Stage::confirmed, "confirmed"}})

template <>
struct fields::Form<Verdict> {
  static void read(const json& name, Verdict& verdict) {
    verdict = compare_verdicts.at("verdict", name.get<std::string>());
  }
  static json write(Verdict verdict) { return compare_verdicts[verdict]; }
};

static void visit_fields(SameAs<SideTimes> auto& side, auto& fields) {
  fields.always("median", side.median);
  fields.always("launches", side.launches);
  fields.nullable("variation", side.variation);
  fields.always("shared", side.shared);
  fields.always("throttled", side.throttled);
}

static void visit_fields(SameAs<TimeRatio> auto& times, auto& fields) {
  fields.always("ratio", times.ratio);
  fields.nullable("interval", times.interval);
  fields.nullable("p", times.p);
}

static void visit_fields(SameAs<ComparedRow> auto& row, auto& fields) {
  fields.always("id", row.id);
  fields.always("names", row.names);
  fields.always("unit", row.unit);
  fields.always("base", row.base);
  fields.always("new", row.updated);
  visit_fields(row.times, fields);
  fields.nullable("speedup", row.speedup);
  fields.nullable("speedup_interval", row.speedup_interval);
  fields.nullable("p_limit", row.p_limit);
  fields.nullable("minimum_detectable", row.minimum_detectable);
  fields.always("tolerance", row.tolerance);
  fields.always("stage", row.stage);
  fields.always("flagged", row.flagged);
  fields.always("detected", row.detected);
  fields.nullable("screen", row.screen);
  fields.nullable("verdict", row.verdict);
  fields.nullable("reason", row.reason);
  fields.always("published", row.published);
  fields.always("notes", row.notes);
}

static void visit_fields(SameAs<Entry> auto& entry, auto& fields) {
  fields.always("id", entry.id);
  fields.optional("names", entry.names);
  fields.optional("status", entry.status);
  fields.optional("base_status", entry.base_status);
  fields.optional("new_status", entry.new_status);
  fields.optional("reason", entry.reason);
}

static void visit_fields(SameAs<MeanSpeedup> auto& mean, auto& fields) {
  fields.always("speedup", mean.speedup);
  fields.nullable("interval", mean.interval);
  fields.nullable("interval_reason", mean.interval_reason);
  fields.always("rows", mean.rows);
  fields.always("of", mean.base_rows);
}

static void visit_fields(SameAs<SideSummary> auto& side, auto& fields) {
  fields.always("name", side.name);
  fields.always("system", side.system);
  fields.always("files", side.files);
}

static void visit_fields(SameAs<Mismatch> auto& mismatch, auto& fields) {
  fields.always("field", mismatch.field);
  fields.always("base", mismatch.base);
  fields.always("new", mismatch.updated);
  fields.always("rows", mismatch.rows);
}

static void visit_fields(SameAs<Comparison::Settings> auto& settings, auto& fields) {
  fields.always("false_alarm_rate", settings.false_alarm_rate);
  fields.always("tolerance", settings.tolerance);
  fields.always("confidence", settings.confidence);
  fields.always("screen_p", settings.screen_p);
  fields.always("flagged", settings.flagged);
  fields.nullable("confirmed_p", settings.confirmed_p);
  fields.always("power", settings.power);
}

static void visit_fields(SameAs<Comparison> auto& comparison, auto& fields) {
  fields.always("schema", comparison.schema);
  fields.always("command", comparison.command);
  fields.always("base", comparison.base);
  fields.always("new", comparison.updated);
  fields.nullable("fresh_base", comparison.fresh_base);
  fields.nullable("fresh_new", comparison.fresh_new);
  fields.always("vary", comparison.vary);
  fields.always("allow_mismatch", comparison.allow_mismatch);
  fields.always("refused", comparison.refused);
  fields.always("mismatches", comparison.mismatches);
  fields.always("notes", comparison.notes);
  fields.always("stage", comparison.stage);
  fields.always("settings", comparison.settings);
  fields.always("rows", comparison.rows);
  fields.always("only_base", comparison.only_base);
  fields.always("only_new", comparison.only_new);
  fields.always("not_compared", comparison.not_compared);
  fields.always("lost", comparison.lost);
  fields.nullable("geometric_mean", comparison.geometric_mean);
  fields.nullable("geometric_mean_reason", comparison.geometric_mean_reason);
  fields.always("summary", comparison.summary);
  fields.always("exit_code", comparison.exit_code);
}

void to_json(json& document, const Comparison& comparison) { document = write_fields(comparison); }
void from_json(const json& document, Comparison& comparison) { read_fields(document, comparison); }

}  // namespace assay
