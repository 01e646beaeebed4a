#include "core/result/row.hpp"

#include "core/base/json_fields.hpp"

namespace assay {

using nlohmann::json;

static void visit_fields(SameAs<RowProblem> auto& problem, auto& fields) {
  fields.always("descriptor", problem.descriptor);
  if (problem.amounts)  // a problem's amounts are reported even if unknown
    fields.nullable("flops", problem.flops, "bytes", problem.bytes);
  else
    fields.optional("flops", problem.flops, "bytes", problem.bytes);
  fields.optional("shared_by", problem.shared_by, "passes", problem.passes, "amounts",
                  problem.amounts);
  fields.rest(problem.rest);
}

static void visit_fields(SameAs<RowExecution> auto& execution, auto& fields) {
  fields.nullable("algorithm", execution.algorithm, "implementation", execution.implementation,
                  "storage", execution.storage, "compute", execution.compute, "accumulate",
                  execution.accumulate, "layout", execution.layout, "workspace_bytes",
                  execution.workspace_bytes);
  fields.always("evidence", execution.evidence);
  fields.nullable("algorithmic_flops", execution.algorithmic_flops);
  fields.optional("compute_s", execution.compute_s, "exposed_s", execution.exposed_s, "kernels_s",
                  execution.kernels_s);
  fields.rest(execution.rest);
}

static void visit_fields(SameAs<RowVerification> auto& verification, auto& fields) {
  fields.always("passed", verification.passed, "reference", verification.reference);
  fields.nullable("max_error", verification.max_error, "norm_error", verification.norm_error,
                  "bound", verification.bound, "norm_bound", verification.norm_bound,
                  "error_over_bound", verification.error_over_bound);
  fields.optional("checked", verification.checked, "outputs", verification.outputs, "wrong",
                  verification.wrong, "exact", verification.exact);
  fields.nullable("reason", verification.reason);
  fields.rest(verification.rest);
}

static void visit_fields(SameAs<RowTime> auto& time, auto& fields) {
  fields.always("median", time.median);
  fields.nullable("mad", time.mad, "min", time.min, "p95", time.p95, "p99", time.p99, "ci95",
                  time.ci95, "ci95_reason", time.ci95_reason, "n", time.n, "n_effective",
                  time.n_effective, "stopped_by", time.stopped_by);
  fields.optional("batch", time.batch);
  fields.nullable("clock_s", time.clock_s);
  fields.optional("warmup_runs", time.warmup_runs);
  fields.nullable("warmup_s", time.warmup_s, "foreign", time.foreign, "own", time.own, "waiting",
                  time.waiting, "stolen", time.stolen, "throttled", time.throttled, "slowest_rank",
                  time.slowest_rank);
  fields.optional("rank_medians_s", time.rank_medians_s, "slowest_host", time.slowest_host,
                  "barrier_skew_s", time.barrier_skew_s, "host_included", time.host_included,
                  "held", time.held);
  fields.rest(time.rest);
}

static void visit_fields(SameAs<RowCeiling> auto& ceiling, auto& fields) {
  fields.nullable("flops_per_s", ceiling.flops_per_s);
  fields.optional("flops_precision", ceiling.flops_precision);
  fields.nullable("bytes_per_s", ceiling.bytes_per_s, "fraction", ceiling.fraction, "bound_by",
                  ceiling.bound_by);
  fields.optional("memory_bytes", ceiling.memory_bytes, "level", ceiling.level, "exceeded",
                  ceiling.exceeded, "brackets", ceiling.brackets);
  fields.rest(ceiling.rest);
}

static void visit_fields(SameAs<RowBaseline> auto& baseline, auto& fields) {
  fields.always("system", baseline.system, "value", baseline.value, "unit", baseline.unit,
                "speedup", baseline.speedup, "published", baseline.published);
  fields.nullable("citation", baseline.citation, "algorithm", baseline.algorithm, "note",
                  baseline.note);
  fields.optional("projection", baseline.projection, "not_given", baseline.not_given, "shared",
                  baseline.shared, "throttled", baseline.throttled, "remark", baseline.remark,
                  "ratio_printed", baseline.ratio_printed);
  fields.rest(baseline.rest);
}

static void visit_fields(SameAs<RowMetric> auto& metric, auto& fields) {
  fields.nullable("value", metric.value);
  fields.always("unit", metric.unit);
  fields.nullable("better", metric.better);
  fields.rest(metric.rest);
}

static void visit_fields(SameAs<RowLayer> auto& layer, auto& fields) {
  fields.always("layer", layer.layer, "direction", layer.direction, "operation", layer.operation,
                "problem", layer.problem, "backend", layer.backend);
  fields.nullable("algorithm", layer.algorithm, "compute", layer.compute, "algorithmic_flops",
                  layer.algorithmic_flops);
  fields.always("runs", layer.runs, "seconds", layer.seconds, "flops", layer.flops, "bytes",
                layer.bytes);
  fields.optional("host_included", layer.host_included);
  fields.always("rates", layer.rates);
  fields.nullable("ceiling", layer.ceiling);
  fields.optional("ceiling_reason", layer.ceiling_reason);
  fields.rest(layer.rest);
}

static void visit_fields(SameAs<RowLayersSum> auto& sum, auto& fields) {
  fields.always("seconds", sum.seconds);
  fields.nullable("fraction", sum.fraction);
  fields.always("agrees", sum.agrees);
  fields.rest(sum.rest);
}

static void visit_fields(SameAs<RowDeviceState> auto& state, auto& fields) {
  fields.always("before", state.before, "after", state.after, "seconds", state.seconds);
  fields.optional("throttled_s", state.throttled_s, "steady", state.steady);
  fields.rest(state.rest);
}

static void visit_fields(SameAs<RowDeviceHealth> auto& health, auto& fields) {
  fields.always("device", health.device, "values", health.values, "errors", health.errors,
                "corrected", health.corrected, "corrected_meanwhile", health.corrected_meanwhile);
  fields.optional("host", health.host);
  fields.rest(health.rest);
}

static void visit_fields(SameAs<PrintedRatio> auto& ratio, auto& fields) {
  fields.always("system", ratio.system, "row", ratio.row, "text", ratio.text, "value", ratio.value);
}

static void visit_fields(SameAs<PrintedValue> auto& printed, auto& fields) {
  fields.nullable("value", printed.value);
  fields.always("unit", printed.unit, "text", printed.text);
  fields.nullable("reason", printed.reason);
  fields.optional("ratios", printed.ratios);
  fields.rest(printed.rest);
}

static void visit_fields(SameAs<Epoch> auto& epoch, auto& fields) {
  fields.always("epoch", epoch.epoch, "seconds", epoch.seconds);
  fields.optional("started_unix_s", epoch.started_unix_s, "trained_unix_s", epoch.trained_unix_s,
                  "ended_unix_s", epoch.ended_unix_s);
  fields.rest(epoch.measures);
}

/// The fields that published rows need not have.
static void visit_measured(SameAs<Row> auto& row, auto& fields) {
  fields.nullable("executed", row.execution, "verification", row.verification);
  fields.always("setup_s", row.setup_s);
}
/// Fields that neither published rows nor rows of a bracket need.
static void visit_judged(SameAs<Row> auto& row, auto& fields) {
  fields.always("samples_s", row.samples_s, "required", row.required);
  fields.nullable("ceiling", row.ceiling, "ceiling_reason", row.ceiling_reason, "energy_j",
                  row.energy_j, "energy_domains_j", row.energy_domains_j, "energy_reason",
                  row.energy_reason, "baseline", row.baseline);
}
/// The place of the row in its result.
static void visit_place(SameAs<Row> auto& row, auto& fields) {
  fields.always("environment", row.environment, "launch", row.launch, "attempt", row.attempt);
}

/// Writes the same fields, but leaves out those that say nothing.
class OptionalWriter {
 public:
  explicit OptionalWriter(FieldWriter& writer) : writer_(writer) {}
  void always(auto&&... fields) { writer_.optional(fields...); }
  void nullable(auto&&... fields) { writer_.optional(fields...); }

 private:
  FieldWriter& writer_;
};

static void visit_own_kind(Row& row, FieldReader& fields) {
  visit_place(row, fields);
  visit_measured(row, fields);
  visit_judged(row, fields);
}
static void visit_own_kind(const Row& row, FieldWriter& fields) {
  if (!row.of_bracket) visit_place(row, fields);
  if (!row.published) {
    visit_measured(row, fields);
    if (!row.of_bracket) visit_judged(row, fields);
    return;
  }
  OptionalWriter optional(fields);
  visit_measured(row, optional);
  visit_judged(row, optional);
}

static void visit_fields(SameAs<Row> auto& row, auto& fields) {
  fields.always("id", row.id);
  fields.optional("published", row.published, "id_form", row.id_form);
  fields.always("names", row.names, "benchmark", row.benchmark, "problem", row.problem,
                "parameters", row.parameters);
  fields.optional("step_parameters", row.step_parameters, "system_parameters",
                  row.system_parameters, "tolerance", row.tolerance, "part_of", row.part_of);
  fields.always("status", row.status);
  fields.nullable("reason", row.reason, "time_s", row.time_s);
  fields.always("rates", row.rates);
  visit_own_kind(row, fields);
  fields.optional("metrics", row.metrics, "epochs", row.epochs);
  fields.optional("layers", row.layers, "layers_sum", row.layers_sum, "device_state",
                  row.device_state, "device_health", row.device_health, "burn", row.burn, "blame",
                  row.blame, "further_baselines", row.further_baselines, "baseline_reason",
                  row.baseline_reason, "citation", row.citation, "note", row.note, "projection",
                  row.projection, "incomparable", row.incomparable, "comparable_within",
                  row.comparable_within, "printed", row.printed);
  fields.rest(row.rest);
}

std::optional<double> RowProblem::number(const std::string& name) const {
  const auto field = rest.find(name);
  return field != rest.end() && field->is_number() ? std::optional(field->get<double>())
                                                   : std::nullopt;
}

std::string Row::parameter(const std::string& name) const {
  const auto entry = parameters.find(name);
  if (entry == parameters.end() || entry->second.is_null()) return "";
  return entry->second.is_string() ? entry->second.get<std::string>() : entry->second.dump();
}

std::optional<double> Row::number(const std::string& name) const {
  const auto entry = parameters.find(name);
  return entry != parameters.end() && entry->second.is_number()
             ? std::optional(entry->second.get<double>())
             : std::nullopt;
}

std::optional<double> Row::rate(const std::string& name) const {
  const auto entry = rates.find(name);
  return entry == rates.end() ? std::nullopt : entry->second;
}

void from_json(const json& document, RowProblem& problem) { read_fields(document, problem); }
void to_json(json& document, const Epoch& epoch) { document = write_fields(epoch); }
void to_json(json& document, const RowBaseline& baseline) { document = write_fields(baseline); }
void from_json(const json& document, RowDeviceState& state) { read_fields(document, state); }
void from_json(const json& document, RowDeviceHealth& health) { read_fields(document, health); }
void to_json(json& document, const RowLayer& layer) { document = write_fields(layer); }
void to_json(json& document, const RowLayersSum& sum) { document = write_fields(sum); }
void to_json(json& document, const Row& row) { document = write_fields(row); }
void from_json(const json& document, Row& row) { read_fields(document, row); }

}  // namespace assay
