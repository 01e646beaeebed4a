#include "core/result/result.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/base/numbers.hpp"
#include "core/base/units.hpp"
#include "core/machine/environment.hpp"
#include "core/result/launches.hpp"
#include "core/result/layers.hpp"
#include "core/result/result_check.hpp"
#include "core/result/row_identity.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

using nlohmann::json;

/// JSON has no infinity: such an error is reported in the verification's reason.
std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Settings are texts; a count becomes a number in the file.
json setting(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  return number && std::to_string(*number) == text ? json(*number) : json(text);
}

/// The parameters of a row. The problem is one of them only if the row is about an operation of the
/// problem, which has another descriptor.
std::map<std::string, json> parameters(const Case& benchmark_case, const Problem* problem,
                                       int ranks, int nodes) {
  std::map<std::string, json> all;
  for (const auto& [name, value] : benchmark_case.settings)
    if (name != "problem" || (problem != nullptr && value != problem->canonical()))
      all[name] = setting(value);
  // A case may set its own values (imposed nodes).
  all.emplace("ranks", ranks);
  all.emplace("nodes", nodes);
  return all;
}

RowProblem make_problem(const Case& benchmark_case, const Problem* problem) {
  RowProblem row_problem;
  if (problem == nullptr) {
    const auto descriptor = benchmark_case.settings.find("problem");
    row_problem.descriptor =
        descriptor == benchmark_case.settings.end() ? benchmark_case.id : descriptor->second;
    return row_problem;
  }
  from_json(problem->json(), row_problem);
  row_problem.descriptor = problem->canonical();
  row_problem.flops = finite(problem->flops());
  row_problem.bytes = finite(problem->bytes());
  row_problem.amounts.emplace();
  for (const auto& [rate, amount] : problem->amounts())
    (*row_problem.amounts)[rate] = finite(amount);
  return row_problem;
}

RowExecution make_executed(const Execution& execution) {
  RowExecution row_executed;
  for (const auto& [name, value] : execution.numbers) {
    if (name == "compute_s")
      row_executed.compute_s = finite(value);
    else if (name == "kernels_s")
      row_executed.kernels_s = finite(value);
    else if (name == "exposed_s")
      row_executed.exposed_s = finite(value);
    else
      row_executed.rest[name] = std::isfinite(value) ? json(value) : json();
  }
  if (execution.tile) row_executed.rest["tile"] = *execution.tile;
  if (execution.operand_roundings)
    row_executed.rest["operand_roundings"] = *execution.operand_roundings;
  if (execution.wire_bits) row_executed.rest["wire_bits"] = *execution.wire_bits;
  row_executed.algorithm = execution.algorithm;
  row_executed.implementation = execution.implementation;
  row_executed.storage = execution.storage;
  row_executed.compute = execution.compute;
  row_executed.accumulate = execution.accumulate;
  row_executed.layout = execution.layout;
  row_executed.workspace_bytes = execution.workspace_bytes;
  row_executed.evidence = execution.evidence;
  if (execution.algorithmic_flops > 0)
    row_executed.algorithmic_flops = finite(execution.algorithmic_flops);
  return row_executed;
}

RowVerification make_verification(const Verification& verification) {
  RowVerification row_verification;
  row_verification.passed = verification.passed;
  row_verification.reference = verification.reference.empty() ? "none" : verification.reference;
  row_verification.max_error = finite(verification.max_error);
  row_verification.norm_error = finite(verification.norm_error);
  row_verification.bound = finite(verification.bound);
  // If there are errors and the bound is 0, no bound was applied.
  if (verification.norm_bound != 0 || !(verification.norm_error > 0))
    row_verification.norm_bound = finite(verification.norm_bound);
  row_verification.error_over_bound = finite(verification.error_over_bound);
  row_verification.checked = verification.checked;
  row_verification.outputs = verification.outputs;
  row_verification.wrong = verification.wrong_elements;
  row_verification.exact = verification.exact;
  row_verification.reason = verification.reason;
  return row_verification;
}

RowTime make_time(const Timing& timing, const Summary& summary) {
  RowTime time;
  time.median = summary.median;
  time.mad = summary.mad;
  time.min = summary.min;
  time.p95 = summary.p95;
  time.p99 = summary.p99;
  time.ci95 = summary.ci95;
  if (!summary.ci95)
    time.ci95_reason = fmt::format("{:.3g} effective samples, a 95 % interval needs {}",
                                   summary.n_effective, least_for_interval);
  time.n = summary.n;
  time.n_effective = summary.n_effective;
  time.stopped_by = timing.stopped_by;
  time.batch = timing.batch;
  time.clock_s = finite(timing.timer_overhead_s);
  time.warmup_runs = timing.warmup_runs;
  time.warmup_s = timing.warmup_s;
  time.waiting = timing.contention.waiting;
  time.stolen = timing.contention.stolen;
  time.throttled = timing.contention.throttled;
  time.foreign = timing.contention.foreign;
  time.own = timing.contention.own;
  time.slowest_rank = timing.slowest_rank;
  if (!timing.rank_medians.empty()) {
    // Each common sample is the time of the slowest rank.
    time.rank_medians_s = timing.rank_medians;
    time.slowest_host = timing.slowest_host;
    time.barrier_skew_s = finite(timing.skew_s);
  }
  time.host_included = timing.host_included;
  time.held = timing.held;
  return time;
}

/// True if the whole, or a layer of it, does fewer operations than the direct sum.
bool saves_somewhere(const Outcome& outcome) {
  return saves_operations(outcome.execution->algorithm) ||
         std::any_of(outcome.layers.begin(), outcome.layers.end(), [](const LayerTime& layer) {
           return layer.execution.algorithmic_flops > 0 ||
                  saves_operations(layer.execution.algorithm);
         });
}

OptionalNumbers make_rates(const Outcome& outcome, double median) {
  OptionalNumbers rates;
  if (!(median > 0)) return rates;  // below the clock's resolution there is no rate
  for (const auto& [name, amount] : outcome.work) rates[name] = finite(amount / median);
  // Winograd and FFT do fewer operations than the direct sum, whose rate is customary. The
  // algorithmic rate explains efficiencies above 100 %.
  const auto direct = outcome.work.find("flops_per_s");
  if (direct == outcome.work.end()) return rates;
  if (outcome.execution->algorithmic_flops > 0)
    rates["algorithmic_flops_per_s"] = finite(outcome.execution->algorithmic_flops / median);
  else if (!saves_somewhere(outcome))
    rates["algorithmic_flops_per_s"] = finite(direct->second / median);
  return rates;
}

/// Sets the energy of a row that has a time.
void set_energy(Row& row, const Energy& energy) {
  if (energy.joules.empty()) {
    row.energy_reason = energy.reason.empty() ? "it was not measured" : energy.reason;
    return;
  }
  row.energy_j = 0;
  for (const auto& [domain, joules] : energy.joules) *row.energy_j += joules;
  row.energy_domains_j = energy.joules;
  row.energy_reason.clear();
}

/// Sets the numbers of a row that is ok.
void set_numbers(Row& row, const Outcome& outcome) {
  const Timing& timing = *outcome.timing;
  const Summary summary = summarize(timing.samples);
  row.samples_s = timing.samples;
  row.time_s = make_time(timing, summary);
  // The part of the communication that the computation does not hide. Like the samples, it covers
  // only timed runs, each on its slowest rank; the computation is equally long on all ranks.
  if (row.execution->compute_s)
    row.execution->exposed_s = summary.median - *row.execution->compute_s;
  row.rates = make_rates(outcome, summary.median);
  // A quality is finite here, because verification refuses a computation that diverged.
  for (const auto& [name, metric] : outcome.metrics)
    row.metrics[name] = {finite(metric.value), metric.unit, metric.better};
  row.epochs = outcome.series;
  if (!outcome.layers.empty()) {
    row.layers = make_layers(outcome.layers);
    row.layers_sum = sum_layers(row);
  }
  set_energy(row, timing.energy);
  if (timing.blame) row.blame = *timing.blame;
  if (!timing.device_state.is_null()) row.device_state = timing.device_state.get<RowDeviceState>();
  if (!outcome.device_health.empty())
    row.device_health = outcome.device_health.get<std::vector<RowDeviceHealth>>();
}

/// The name of a value that is not finite.
std::optional<std::string> find_infinite(const std::vector<Epoch>& epochs) {
  for (const Epoch& epoch : epochs) {
    const json numbers = epoch;
    for (const auto& [name, value] : numbers.items())
      if (!std::isfinite(value.get<double>())) return name;
  }
  return std::nullopt;
}

/// The outcome as it may be reported: an unverified or impossible number never becomes a result.
Outcome judge_outcome(const Outcome& claim) {
  Outcome outcome = claim;
  if (outcome.status == "ok") {
    if (!outcome.verification || !outcome.execution || !outcome.timing ||
        outcome.timing->samples.empty())
      throw std::logic_error(
          "an ok outcome needs its verification, what was executed and its samples");
    const std::vector<double>& samples = outcome.timing->samples;
    if (!outcome.verification->passed) {
      outcome.status = "incorrect";
    } else if (!std::all_of(samples.begin(), samples.end(),
                            [](double s) { return std::isfinite(s) && s >= 0; })) {
      outcome.status = "failed";
      outcome.reason = "the clock gave a time that is negative or not finite.";
    } else if (const auto name = find_infinite(outcome.series)) {
      outcome.status = "failed";
      outcome.reason = fmt::format("the {} of an epoch is not finite.", *name);
    }
  }
  if (outcome.status == "ok") {
    outcome.reason.clear();
  } else if (outcome.reason.empty()) {
    const bool wrong = outcome.verification && !outcome.verification->reason.empty();
    outcome.reason = wrong ? outcome.verification->reason
                           : "no reason was given (a defect of Assay). Report it.";
  }
  if (outcome.status == "incorrect" && outcome.verification) outcome.verification->passed = false;
  return outcome;
}

}  // namespace

/// Why the times of a burn-in are not those of a quiet machine.
constexpr const char* burn_is_incomparable =
    "measured in a burn-in, in which all processors work at the same time";

Row make_row(const std::string& benchmark, const Case& benchmark_case, const Problem* problem,
             const Outcome& claim, int environment, int launch, int attempt, int ranks, int nodes) {
  const Outcome outcome = judge_outcome(claim);
  Row row;
  row.id = benchmark_case.id;
  row.id_form = benchmark_case.id_form;
  row.names = benchmark_case.names;
  row.benchmark = benchmark;
  row.problem = make_problem(benchmark_case, problem);
  row.environment = environment;
  row.launch = launch;
  row.attempt = attempt;
  row.required = benchmark_case.required;
  row.parameters = parameters(benchmark_case, problem, ranks, nodes);
  row.step_parameters = benchmark_case.step_parameters;
  if (!benchmark_case.system_parameters.empty())
    row.system_parameters = benchmark_case.system_parameters;
  row.tolerance = benchmark_case.tolerance;
  row.part_of = benchmark_case.parts;
  row.note = benchmark_case.note;
  if (outcome.execution) row.execution = make_executed(*outcome.execution);
  row.status = outcome.status;
  row.reason = outcome.reason;
  if (outcome.verification) row.verification = make_verification(*outcome.verification);
  for (const auto& [name, seconds] : outcome.setup) row.setup_s[name] = finite(seconds);
  row.ceiling_reason =
      "no ceiling was measured: `assay run` measures it around the cases of a suite";
  row.energy_reason = "the row has no time";
  if (outcome.burn) {
    row.burn = *outcome.burn;
    row.incomparable = burn_is_incomparable;
    row.comparable_within = "burn-in";
  }
  if (row.is_ok())
    set_numbers(row, outcome);
  else if (row.execution)
    row.execution->kernels_s.reset();  // it is also a time
  return row;
}

RunHeader make_header(const std::string& id, const std::string& suite, const std::string& command,
                      std::uint64_t seed, const std::string& started) {
  RunHeader header;
  // The run of a standalone program has no name.
  header.id = id.empty() ? fmt::format("{}-{}", started, ::getpid()) : id;
  header.suite = suite;
  header.command = command;
  header.seed = seed;
  header.started = started;
  header.statistics = statistics_version;
  return header;
}

RunResult make_result(const RunHeader& header) { return {.run = header, .system = system_name()}; }

std::string format_metric(const RowMetric& metric) {
  if (!metric.value) return "-";
  if (metric.unit == "s") return format_seconds(*metric.value);
  if (metric.unit == "B") return format_with_unit(*metric.value, metric.unit);
  return fmt::format("{:.6g}{}{}", *metric.value, metric.unit.empty() ? "" : " ", metric.unit);
}

ExitCode exit_code(const std::vector<Row>& rows) {
  if (rows.empty()) return ExitCode::incomparable;  // without rows nothing was shown
  // A later attempt at the same launch of a case replaces a crash or a timeout, but never a final
  // row.
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> latest;
  for (const Row& row : rows) {
    std::int64_t& attempt = latest.try_emplace({row.id, row.launch}, row.attempt).first->second;
    attempt = std::max(attempt, row.attempt);
  }
  ExitCode code = ExitCode::ok;
  bool measured = false;
  for (const Row& row : rows) {
    measured = measured || row.is_ok();
    if (is_final(row.status)) {
      code = find_gravest(
          code, row.status == "incorrect" ? ExitCode::incorrect : ExitCode::target_missed);
    } else if (row.attempt == latest.at({row.id, row.launch})) {
      const bool tolerated = row.is_ok() || (row.status == "unsupported" && !row.required);
      if (!tolerated) code = find_gravest(code, ExitCode::failed);
      // Differing runs of a burn-in are not excused, unlike missing features of the machine.
      if (row.burn && row.burn->faulty + row.burn->undecided > 0)
        code = find_gravest(code, ExitCode::incomparable);
    }
  }
  if (!list_lost_ids(rows).empty()) code = find_gravest(code, ExitCode::incomparable);
  // If every row is excused, nothing was shown.
  return measured ? code : find_gravest(code, ExitCode::incomparable);
}

std::set<std::string> list_lost_ids(const std::vector<Row>& rows) {
  std::map<std::pair<std::string, std::int64_t>, std::pair<std::int64_t, std::string>> latest;
  for (const Row& row : rows) {
    // A row that ran, but could not be decided, had its backend.
    if (row.status == "unsupported" && row.verification) continue;
    auto& [attempt, status] = latest[{row.id, row.launch}];
    if (status.empty() || row.attempt >= attempt)
      std::tie(attempt, status) = std::pair(row.attempt, row.status);
  }
  std::set<std::string> measured, lost;
  for (const auto& [launch, row] : latest)
    if (row.second == "ok") measured.insert(launch.first);
  for (const auto& [launch, row] : latest)
    if (row.second == "unsupported" && measured.contains(launch.first)) lost.insert(launch.first);
  return lost;
}

}  // namespace assay
