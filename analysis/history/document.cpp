// The fields of the documents: a history, and the lines of its baselines.
#include <algorithm>

#include "analysis/history/history.hpp"
#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

static void visit_fields(SameAs<Point> auto& point, auto& fields) {
  fields.always("time", point.when, "run", point.run, "value", point.value);
  fields.always("launches", point.launches, "shared", point.shared, "throttled", point.throttled);
  fields.nullable("low", point.low, "high", point.high, "software", point.software_hash);
}

static void visit_fields(SameAs<Gap> auto& gap, auto& fields) {
  fields.always("time", gap.when, "run", gap.run, "status", gap.status, "reason", gap.reason);
}

static void visit_fields(SameAs<Event> auto& event, auto& fields) {
  fields.always("time", event.when, "text", event.text, "kind", event.kind);
}

static void visit_fields(SameAs<LevelChange> auto& change, auto& fields) {
  fields.always("time", change.when, "index", change.index, "before", change.before);
  fields.always("after", change.after, "ratio", change.ratio, "p", change.p);
}

static void visit_fields(SameAs<Trend> auto& trend, auto& fields) {
  fields.always("p", trend.p, "ratio", trend.ratio);
}

static void visit_fields(SameAs<LatestLevel> auto& latest, auto& fields) {
  fields.always("value", latest.value, "low", latest.low, "high", latest.high);
  fields.always("points", latest.points, "since", latest.since);
}

static void visit_fields(SameAs<AnchoredLevel> auto& level, auto& fields) {
  fields.always("value", level.value, "ratio", level.ratio, "state", level.state);
  fields.always("promoted", level.promoted, "since", level.since, "reason", level.reason);
  fields.nullable("owner", level.owner, "run", level.run);
}

static void visit_fields(SameAs<RollingLevel> auto& level, auto& fields) {
  fields.always("value", level.value, "ratio", level.ratio, "state", level.state);
  fields.always("points", level.points);
}

static void visit_fields(SameAs<Confirmation> auto& confirmation, auto& fields) {
  fields.always("answer", confirmation.answer, "reason", confirmation.reason);
  fields.always("ratio", confirmation.ratio, "interval", confirmation.interval);
  fields.always("p", confirmation.p, "level_s", confirmation.level_s);
  fields.always("base_s", confirmation.base_s, "new_s", confirmation.new_s);
}

static void visit_fields(SameAs<RowHistory> auto& series, auto& fields) {
  std::string unit = "s";
  auto& verdict = series.verdict;
  fields.always("id", series.id, "names", series.names, "benchmark", series.benchmark);
  fields.always("hardware", series.hardware, "system", series.system, "unit", unit);
  fields.always("points", series.points, "gaps", series.gaps, "events", series.events);
  fields.always("tolerance", verdict.tolerance, "change_points", verdict.changes);
  fields.always("trend", verdict.trend, "latest", verdict.latest);
  fields.always("anchored", verdict.anchored, "rolling", verdict.rolling);
  fields.always("state", verdict.state, "reason", verdict.reason);
  fields.optional("last_ratio", verdict.last_ratio, "size", verdict.size);
  fields.nullable("change_points_reason", verdict.changes_reason);
  fields.nullable("anchored_reason", verdict.anchored_reason);
  fields.nullable("rolling_reason", verdict.rolling_reason);
  fields.optional("confirmation", series.confirmation);
}

static void visit_fields(SameAs<SkippedSource> auto& passed, auto& fields) {
  fields.always("what", passed.what, "reason", passed.reason);
}

static void visit_fields(SameAs<HistorySettings> auto& settings, auto& fields) {
  double alarms = false_alarm_rate, suspects = suspect_rate;
  std::size_t segment = minimum_segment, latest = latest_points, rolling = rolling_points,
              anchor = anchor_points;
  fields.always("tolerance", settings.tolerance, "level", settings.level);
  fields.always("false_alarm_rate", alarms, "suspect_rate", suspects, "minimum_segment", segment);
  fields.always("latest", latest, "rolling", rolling, "anchor", anchor);
}

static void visit_fields(SameAs<History> auto& history, auto& fields) {
  std::string schema = "assay-history/1";
  std::map<std::string, std::size_t> summary;
  for (std::string state : {"steady", "slower", "faster", "drifting", "suspect", "lost", "retired",
                            "too short", "no result"}) {
    const std::size_t count = history.count(state);
    std::ranges::replace(state, ' ', '_');
    summary[state] = count;
  }
  fields.always("schema", schema, "command", history.command, "settings", history.settings);
  fields.always("series", history.series, "passed_over", history.passed_over);
  fields.always("summary", summary, "exit_code", history.code);
}

static void visit_fields(SameAs<PromotedBuild> auto& build, auto& fields) {
  fields.always("programs", build.programs, "hash", build.hash, "software", build.software);
}

static void visit_fields(SameAs<Anchor> auto& anchor, auto& fields) {
  std::string schema = "assay-anchor/1", unit = "s";
  fields.always("schema", schema, "event", anchor.event, "id", anchor.id, "unit", unit);
  fields.always("hardware", anchor.hardware, "time", anchor.time, "value", anchor.value);
  fields.always("owner", anchor.owner, "reason", anchor.reason);
  fields.nullable("run", anchor.run);
  fields.optional("statistics", anchor.statistics, "runs", anchor.runs);
  fields.optional("installation", anchor.build);
}

void to_json(json& line, const Anchor& anchor) { line = write_fields(anchor); }
void from_json(const json& line, Anchor& anchor) { read_fields(line, anchor); }
void to_json(json& document, const History& history) { document = write_fields(history); }
void from_json(const json& document, History& history) { read_fields(document, history); }

}  // namespace assay
