#include "core/result/result.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

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

json known(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }
/// JSON has no infinity: such an error is told in the verification's reason.
json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// Settings are texts; a count becomes a number in the file.
json setting(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  return number && std::to_string(*number) == text ? json(*number) : json(text);
}

/// The problem is one of them where the row's is an operation of it, whose descriptor is another.
json parameters(const Case& benchmark_case, const Problem* problem, int ranks, int nodes) {
  json all = json::object();
  for (const auto& [name, value] : benchmark_case.settings)
    if (name != "problem" || (problem != nullptr && value != problem->canonical()))
      all[name] = setting(value);
  // A case may name its own (imposed nodes).
  all.emplace("ranks", ranks);
  all.emplace("nodes", nodes);
  return all;
}

json problem_json(const Case& benchmark_case, const Problem* problem) {
  json all = json::object();
  if (problem != nullptr) {
    all = problem->json();
    all["descriptor"] = problem->canonical();
    all["flops"] = finite(problem->flops());
    all["bytes"] = finite(problem->bytes());
    all["amounts"] = json::object();
    for (const auto& [rate, amount] : problem->amounts()) all["amounts"][rate] = finite(amount);
  } else {
    const auto found = benchmark_case.settings.find("problem");
    all["descriptor"] = found == benchmark_case.settings.end() ? benchmark_case.id : found->second;
  }
  return all;
}

json executed_json(const Executed& executed) {
  json all = json::object();
  for (const auto& [name, value] : executed.numbers) all[name] = finite(value);
  if (executed.tile) all["tile"] = *executed.tile;
  if (executed.operand_roundings) all["operand_roundings"] = *executed.operand_roundings;
  if (executed.wire_bits) all["wire_bits"] = *executed.wire_bits;
  all["algorithm"] = known(executed.algorithm);
  all["implementation"] = known(executed.implementation);
  all["storage"] = known(executed.storage);
  all["compute"] = known(executed.compute);
  all["accumulate"] = known(executed.accumulate);
  all["layout"] = known(executed.layout);
  all["workspace_bytes"] = executed.workspace_bytes;
  all["evidence"] = executed.evidence;
  all["algorithmic_flops"] =
      executed.algorithmic_flops > 0 ? finite(executed.algorithmic_flops) : json(nullptr);
  return all;
}

json verification_json(const Verification& verification) {
  return {{"passed", verification.passed},
          {"reference", verification.reference.empty() ? "none" : verification.reference},
          {"max_error", finite(verification.max_error)},
          {"norm_error", finite(verification.norm_error)},
          {"bound", finite(verification.bound)},
          // Errors beside a bound of 0 were not held against it: there is none.
          {"norm_bound", verification.norm_bound == 0 && verification.norm_error > 0
                             ? json(nullptr)
                             : finite(verification.norm_bound)},
          {"error_over_bound", finite(verification.error_over_bound)},
          {"checked", verification.checked},
          {"outputs", verification.outputs},
          {"wrong", verification.wrong_elements},
          {"exact", verification.exact},
          {"reason", known(verification.reason)}};
}

json optional_json(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

/// What several ranks have beside their common samples, each of which is the slowest rank's.
json ranks_json(const Timing& timing) {
  if (timing.rank_medians.empty()) return json::object();
  return {{"rank_medians_s", timing.rank_medians},
          {"slowest_host", known(timing.slowest_host)},
          {"barrier_skew_s", finite(timing.skew_s)}};
}

json time_json(const Timing& timing, const Summary& summary) {
  json all = {{"median", summary.median},
              {"mad", summary.mad},
              {"min", summary.min},
              {"p95", summary.p95},
              {"p99", summary.p99},
              {"ci95", summary.ci95 ? json{summary.ci95->low, summary.ci95->high} : json(nullptr)},
              {"ci95_reason",
               summary.ci95 ? json(nullptr)
                            : json(fmt::format("{:.3g} effective samples, a 95 % interval needs {}",
                                               summary.n_effective, least_for_interval))},
              {"n", summary.n},
              {"n_effective", summary.n_effective},
              {"stopped_by", timing.stopped_by},
              {"batch", timing.batch},
              {"clock_s", finite(timing.timer_overhead_s)},
              {"warmup_runs", timing.warmup_runs},
              {"warmup_s", timing.warmup_s},
              {"waiting", optional_json(timing.contention.waiting)},
              {"stolen", optional_json(timing.contention.stolen)},
              {"throttled", optional_json(timing.contention.throttled)},
              {"foreign", optional_json(timing.contention.foreign)},
              {"own", optional_json(timing.contention.own)},
              {"slowest_rank", timing.slowest_rank}};
  all.update(ranks_json(timing));
  if (!timing.host_included.empty()) all["host_included"] = timing.host_included;
  if (timing.held) all["held"] = true;
  return all;
}

/// Whether the whole, or a layer of it, does fewer operations than the direct sum.
bool saves_somewhere(const Outcome& outcome) {
  return saves_operations(outcome.executed->algorithm) ||
         std::any_of(outcome.layers.begin(), outcome.layers.end(), [](const LayerTime& layer) {
           return layer.executed.algorithmic_flops > 0 ||
                  saves_operations(layer.executed.algorithm);
         });
}

json rates_json(const Outcome& outcome, double median) {
  json all = json::object();
  if (!(median > 0)) return all;  // below the clock's resolution there is no rate
  for (const auto& [name, amount] : outcome.work) all[name] = finite(amount / median);
  // Winograd and FFT do fewer operations than the direct sum that everybody quotes: an efficiency
  // above 100 % explains itself.
  const auto direct = outcome.work.find("flops_per_s");
  if (direct == outcome.work.end()) return all;
  if (outcome.executed->algorithmic_flops > 0)
    all["algorithmic_flops_per_s"] = finite(outcome.executed->algorithmic_flops / median);
  else if (!saves_somewhere(outcome))
    all["algorithmic_flops_per_s"] = finite(direct->second / median);
  return all;
}

/// A quality that is not finite means a computation that diverged; verification refuses it before.
json metrics_json(const std::map<std::string, Metric>& metrics) {
  json all = json::object();
  for (const auto& [name, metric] : metrics)
    all[name] = {
        {"value", finite(metric.value)}, {"unit", metric.unit}, {"better", known(metric.better)}};
  return all;
}

json epochs_json(const std::vector<std::map<std::string, double>>& epochs) {
  json all = json::array();
  for (const auto& epoch : epochs) {
    json& entry = all.emplace_back(json::object());
    for (const auto& [name, value] : epoch)
      entry[name] = name == "epoch" ? json(std::llround(value)) : finite(value);
  }
  return all;
}

/// The energy of a row that has a time.
void add_energy(json& row, const Energy& energy) {
  if (energy.joules.empty()) {
    row["energy_reason"] = energy.reason.empty() ? "it was not measured" : energy.reason;
    return;
  }
  double sum = 0;
  for (const auto& [domain, joules] : energy.joules) sum += joules;
  row["energy_j"] = sum;
  row["energy_domains_j"] = energy.joules;
  row["energy_reason"] = nullptr;
}

/// What may be reported of an outcome: an unverified or impossible number never becomes a result.
Outcome judged(const Outcome& given) {
  Outcome outcome = given;
  if (outcome.status == "ok") {
    if (!outcome.verification || !outcome.executed || !outcome.timing ||
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

json make_row(const std::string& benchmark, const Case& benchmark_case, const Problem* problem,
              const Outcome& given, int environment, int launch, int attempt, int ranks,
              int nodes) {
  const Outcome outcome = judged(given);
  json row = {{"id", benchmark_case.id},
              {"names", benchmark_case.names},
              {"benchmark", benchmark},
              {"problem", problem_json(benchmark_case, problem)},
              {"environment", environment},
              {"launch", launch},
              {"attempt", attempt},
              {"required", benchmark_case.required},
              {"parameters", parameters(benchmark_case, problem, ranks, nodes)},
              {"executed", outcome.executed ? executed_json(*outcome.executed) : json(nullptr)},
              {"status", outcome.status},
              {"reason", known(outcome.reason)},
              {"verification",
               outcome.verification ? verification_json(*outcome.verification) : json(nullptr)},
              {"setup_s", json::object()},
              {"samples_s", json::array()},
              {"time_s", nullptr},
              {"rates", json::object()},
              {"ceiling", nullptr},
              {"ceiling_reason",
               "no ceiling was measured: `assay run` measures it around the cases of a suite"},
              {"energy_j", nullptr},
              {"energy_domains_j", nullptr},
              {"energy_reason", "the row has no time"},
              {"baseline", nullptr}};
  if (!benchmark_case.id_form.empty()) row["id_form"] = benchmark_case.id_form;
  if (!benchmark_case.step_parameters.empty())
    row["step_parameters"] = benchmark_case.step_parameters;
  if (!benchmark_case.system_parameters.empty())
    row["system_parameters"] = benchmark_case.system_parameters;
  if (benchmark_case.tolerance) row["tolerance"] = *benchmark_case.tolerance;
  if (!benchmark_case.parts.empty()) row["part_of"] = benchmark_case.parts;
  if (!benchmark_case.note.empty()) row["note"] = benchmark_case.note;
  for (const auto& [name, seconds] : outcome.setup) row["setup_s"][name] = finite(seconds);
  if (outcome.status != "ok") {
    if (row["executed"].is_object()) row["executed"].erase("kernels_s");  // a time, too
    return row;
  }
  const Summary summary = summarize(outcome.timing->samples);
  row["samples_s"] = outcome.timing->samples;
  row["time_s"] = time_json(*outcome.timing, summary);
  // Of what goes on beside a computation: what that does not hide. As the samples are, it is of
  // timed runs alone and of the slowest rank of each; a computation's length is every rank's.
  if (const json compute = row["executed"].value("compute_s", json()); compute.is_number())
    row["executed"]["exposed_s"] = summary.median - compute.get<double>();
  row["rates"] = rates_json(outcome, summary.median);
  if (!outcome.metrics.empty()) row["metrics"] = metrics_json(outcome.metrics);
  if (!outcome.epochs.empty()) row["epochs"] = epochs_json(outcome.epochs);
  if (!outcome.layers.empty()) {
    row["layers"] = layers_json(outcome.layers);
    row["layers_sum"] = layers_sum(row);
  }
  add_energy(row, outcome.timing->energy);
  if (!outcome.timing->device_state.is_null()) row["device_state"] = outcome.timing->device_state;
  return row;
}

RunHeader make_header(const std::string& id, const std::string& suite, const std::string& command,
                      std::uint64_t seed, const std::string& started) {
  RunHeader header;
  // A standalone program's run has no name of its own.
  header.id = id.empty() ? fmt::format("{}-{}", started, ::getpid()) : id;
  header.suite = suite;
  header.command = command;
  header.seed = seed;
  header.started = started;
  header.statistics = statistics_version;
  return header;
}

json make_result(const RunHeader& header) {
  return {{"schema", result_schema},
          {"run", header},
          {"system", {{"name", system_name()}}},
          {"environments", json::array()},
          {"rows", json::array()}};
}

json read_result(const std::filesystem::path& given) {
  std::error_code missing;
  const std::filesystem::path file =
      std::filesystem::is_directory(given, missing) ? given / "result.json" : given;
  json result = read_checked(file, "result");
  check_run(result, file.string());
  RowsTogether together;
  std::size_t index = 0;
  for (const json& row : result["rows"]) {
    check_row(row, index, result, file.string());
    together.add(row, index++, file.string());
  }
  return result;
}

std::string human_metric(const json& metric) {
  const json& value = metric.at("value");
  if (!value.is_number()) return "-";
  const std::string unit = metric.at("unit");
  if (unit == "s") return human_seconds(value);
  if (unit == "B") return human(value, unit);
  return fmt::format("{:.6g}{}{}", value.get<double>(), unit.empty() ? "" : " ", unit);
}

ExitCode exit_code(const json& rows) {
  if (rows.empty())
    return ExitCode::incomparable;  // rows are missing: nothing was shown, so nothing is in order
  // A later attempt at the same launch of a case makes good a crash or a timeout, but never what is
  // final.
  std::map<std::pair<std::string, int>, int> latest;
  for (const json& row : rows) {
    int& attempt =
        latest.try_emplace({row.at("id"), row.at("launch")}, row.at("attempt")).first->second;
    attempt = std::max(attempt, row.at("attempt").get<int>());
  }
  ExitCode code = ExitCode::ok;
  bool measured = false;
  for (const json& row : rows) {
    const std::string status = row.at("status");
    measured = measured || status == "ok";
    if (is_final(status)) {
      code = gravest(code, status == "incorrect" ? ExitCode::incorrect : ExitCode::target_missed);
    } else if (row.at("attempt") == latest.at({row.at("id"), row.at("launch")})) {
      const bool tolerated =
          status == "ok" || (status == "unsupported" && !row.value("required", false));
      if (!tolerated) code = gravest(code, ExitCode::failed);
    }
  }
  if (!lost_ids(rows).empty()) code = gravest(code, ExitCode::incomparable);
  // Every row may be excused, and still nothing was shown.
  return measured ? code : gravest(code, ExitCode::incomparable);
}

std::set<std::string> lost_ids(const json& rows) {
  std::map<std::pair<std::string, int>, std::pair<int, std::string>> latest;
  for (const json& row : rows) {
    // A row that ran and could not be decided had its backend.
    if (row.value("status", "") == "unsupported" && !row.value("verification", json()).is_null())
      continue;
    auto& [attempt, status] = latest[{row.at("id"), row.value("launch", 0)}];
    if (status.empty() || row.value("attempt", 0) >= attempt)
      std::tie(attempt, status) = std::pair(row.value("attempt", 0), row.value("status", ""));
  }
  std::set<std::string> measured, lost;
  for (const auto& [launch, row] : latest)
    if (row.second == "ok") measured.insert(launch.first);
  for (const auto& [launch, row] : latest)
    if (row.second == "unsupported" && measured.contains(launch.first)) lost.insert(launch.first);
  return lost;
}

}  // namespace assay
