#include "models/network/network_benchmark.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include "comm/joined.hpp"
#include "core/base/clock.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/allocator.hpp"
#include "core/program/launched_ranks.hpp"
#include "core/result/row.hpp"
#include "models/network/inference_workload.hpp"
#include "models/network/loss_band.hpp"
#include "models/network/network_options.hpp"
#include "models/network/network_problem.hpp"
#include "models/network/network_settings.hpp"
#include "models/network/prepared_as_claimed.hpp"
#include "models/parallel/parallel_workload.hpp"

namespace assay {
namespace {

/// The distance of the seeds of two trials, larger than the number of seeds that a run uses.
constexpr std::uint64_t seeds_of_trial = 2654435761;

NetworkProblem make_network_problem(const std::string& benchmark, const NetworkSettings& network) {
  const TrainerSettings& trainer = network.run.trainer;
  std::optional<StepTraffic> traffic;
  if (network.run.parallel.kind == WayKind::sync)
    traffic = StepTraffic{trainer.precision, trainer.learning,
                          static_cast<int>(network.images / trainer.batch / trainer.accumulate),
                          trainer.accumulate};
  return {benchmark,
          trainer.network,
          network.images,
          !network.inference,
          steps_of_run(network.run.parallel),
          std::move(traffic)};
}

/// Connects the ranks for the sum of gradients, unless the case uses the runner's own communicator.
/// Returns the reason if they cannot be connected.
std::optional<std::string> connect_gradients(const Settings& settings, CaseContext& context,
                                             TrainingRun& run) {
  Options options;
  options.settings = settings;
  options.settings["algorithm"] = settings.at("allreduce");
  options.settings["transport"] = settings.at("allreduce_transport");
  run.trainer.sums_on_device = options.settings["transport"] == gpu_transport;
  // All other transports work on the host: the trainer stages gradients of a GPU for them.
  if (!run.trainer.sums_on_device) options.settings["device"] = "cpu";
  if (settings.at("allreduce_transport") == launched_transport &&
      settings.at("allreduce") == "library" && settings.at("wire") == "none")
    return std::nullopt;
  auto communicator = connect_ranks(options, context);
  if (auto* refusal = std::get_if<Unsupported>(&communicator)) return std::move(refusal->reason);
  run.gradients = std::move(std::get<std::unique_ptr<Communicator>>(communicator));
  run.network = job_network(options.settings["transport"], run.gradients.get());
  return std::nullopt;
}

}  // namespace

std::vector<Dimension> NetworkBenchmark::dimensions() const {
  return network_options::dimensions(problem_dimensions());
}

std::any NetworkBenchmark::complete(Settings& settings, const RankCount& started) const {
  return read_network(settings, started, dimensions(), network(settings.at("problem")));
}

void NetworkBenchmark::expect_compatible(const std::vector<Case>& cases) const {
  expect_one_training_each(cases);
}

std::vector<std::string> NetworkBenchmark::step_parameters(const Case& selected) const {
  if (typed_settings<NetworkSettings>(selected).inference) return {};
  return network_options::step_parameters(all_dimensions(*this));
}

/// "throughput only" if the row itself has no convergence. Another row may have it: tables find
/// that row (analysis/trainings.hpp). A kept training that missed its target counts as no
/// convergence.
std::string NetworkBenchmark::row_label(const Row& row) const {
  const bool converged = std::ranges::any_of(
      row.metrics, [](const auto& metric) { return metric.first.starts_with("time_to_"); });
  return row.step_parameters.empty() || converged ? "" : "throughput only";
}

std::vector<std::string> NetworkBenchmark::candidates(const Case& selected) const {
  return typed_settings<NetworkSettings>(selected).run.trainer.executor.backends;
}

std::shared_ptr<const Problem> NetworkBenchmark::problem(const Case& selected) const {
  return std::make_shared<NetworkProblem>(
      make_network_problem(name(), typed_settings<NetworkSettings>(selected)));
}

std::vector<double> NetworkBenchmark::working_sets(const Case& selected) const {
  const auto& network = typed_settings<NetworkSettings>(selected);
  const TrainerSettings& trainer = network.run.trainer;
  return make_network_problem(name(), network).working_sets(trainer.batch, trainer.precision);
}

Result<std::unique_ptr<Workload>> NetworkBenchmark::prepare(const Case& selected,
                                                            CaseContext& context) const {
  const auto start = std::chrono::steady_clock::now();
  const Settings& settings = selected.settings;
  const auto& case_settings = typed_settings<NetworkSettings>(selected);
  TrainingRun run = case_settings.run;
  run.trainer.seed = context.seed + case_settings.trial * seeds_of_trial;
  // All ranks return together; otherwise the other ranks would wait for this one.
  const std::string why_not = why_not_threads(run.trainer.executor.threads).value_or("");
  if (std::string why = find_fault_of_any(why_not, context.ranks); !why.empty())
    return Unsupported{std::move(why)};
  run.amounts = make_network_problem(name(), case_settings).amounts();
  run.definition = definition(settings.at("problem"));
  expect_layers(run.trainer.network, settings, run.definition);
  if (case_settings.inference) {
    if (auto why = network_options::why_not_inference(settings, dimensions()))
      return Unsupported{std::move(*why)};
    expect_network(run.trainer, settings);
    return make_inference_workload({run.trainer, run.steps, run.amounts, seconds_since(start)},
                                   context.plugins, context.ranks);
  }
  run.data.seed = context.seed;
  if (run.convergence.epochs > 0) run.band = compute_loss_band(settings, dimensions());
  if (context.ranks.rank() == 0)
    run.convergence.progress = [](const std::string& text) { std::cerr << text << '\n'; };
  if (auto why = connect_gradients(settings, context, run)) return Unsupported{std::move(*why)};
  run.create_seconds = seconds_since(start);
  expect_training(run, settings);
  run.claims = settings;
  run.claimed_seed = context.seed;
  if (run.parallel.kind != WayKind::sync)
    return make_parallel_workload(run, context.plugins, context.ranks);
  return make_training_workload(run, context.plugins, context.ranks);
}

std::unique_ptr<Communicator> NetworkBenchmark::connect(Plugins& plugins) const {
  return connect_launched_ranks(plugins);
}

}  // namespace assay
