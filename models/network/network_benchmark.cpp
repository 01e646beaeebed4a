#include "models/network/network_benchmark.hpp"

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "comm/joined.hpp"
#include "core/base/clock.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/allocator.hpp"
#include "core/program/launched_ranks.hpp"
#include "models/network/inference_workload.hpp"
#include "models/network/network_options.hpp"
#include "models/network/network_problem.hpp"
#include "models/network/prepared_as_claimed.hpp"
#include "models/network/schedule.hpp"
#include "models/network/training_workload.hpp"

namespace assay {
namespace {

using network_options::is_inference;

/// Between the seeds of two trials: more than a run draws.
constexpr std::uint64_t seeds_of_trial = 2654435761;

/// Candidates for each operation, in the order of preference.
std::vector<std::string> backends_of(const std::string& backend, const std::string& device) {
  const bool measured = backend == network_options::measured;
  if (device != "cpu") return {measured ? "cuda" : backend};
  if (measured) return {"native", "onednn", "blas", "reference"};
  if (backend == "reference") return {"reference"};
  return {backend, backend == "native" ? "onednn" : "native", "blas", "reference"};
}

/// Images of a step on all ranks.
std::int64_t images(const Settings& settings) {
  return std::stoll(settings.at("batch")) * std::stoll(settings.at("ranks")) *
         std::stoll(settings.at("accumulate"));
}

NetworkProblem problem_of(const NetworkBenchmark& benchmark, const Settings& settings) {
  return {benchmark.name(), benchmark.network(settings.at("problem")), images(settings),
          !is_inference(settings)};
}

TrainerSettings trainer_settings(Network network, const Settings& settings, std::uint64_t seed) {
  TrainerSettings trainer;
  trainer.network = std::move(network);
  trainer.batch = std::stoll(settings.at("batch"));
  trainer.accumulate = std::stoll(settings.at("accumulate"));
  trainer.lag = std::stoll(settings.at("lag"));
  trainer.precision = network_options::stored(settings);
  trainer.learning.rule = update_rule(settings.at("optimizer"));
  trainer.learning.smoothing = std::stod(settings.at("smoothing"));
  trainer.learning.narrow_gradients = settings.at("weight_gradients") == "16bit";
  trainer.loss_scale = parse_loss_scale("--loss-scale", settings.at("loss_scale"));
  trainer.executor.wide_products = settings.at("emulate") != "none";
  trainer.executor.backends = backends_of(settings.at("backend"), settings.at("device"));
  trainer.executor.measured = settings.at("backend") == network_options::measured;
  trainer.executor.threads = std::stoi(settings.at("threads"));
  trainer.executor.device = settings.at("device");
  trainer.seed = seed + std::stoull(settings.at("trial")) * seeds_of_trial;
  return trainer;
}

TrainingData training_data(const Settings& settings, const TrainerSettings& trainer,
                           std::uint64_t seed) {
  TrainingData data;
  data.data = settings.at("data");
  if (settings.at("validation") != "none") data.validation = settings.at("validation");
  data.seed = seed;
  data.classes = trainer.network.classes;
  data.size = static_cast<int>(trainer.network.image);
  data.augment = augment_names.at("augment", settings.at("augment"));
  data.label_base = std::stoll(settings.at("label_base"));
  data.max_bad_samples = std::stoll(settings.at("max_bad_samples"));
  data.threads = trainer.executor.threads;
  return data;
}

ConvergenceSettings convergence_settings(const Settings& settings,
                                         const std::vector<Dimension>& dimensions) {
  ConvergenceSettings convergence;
  convergence.epochs = std::stoll(settings.at("epochs"));
  convergence.target = std::stod(settings.at("target"));
  convergence.rate = std::stod(settings.at("rate"));
  if (settings.at("scaling") == "linear")
    convergence.rate = scaled_rate(convergence.rate, images(settings));
  convergence.validate_every = std::stoll(settings.at("validate_every"));
  convergence.warmup_epochs = std::stoll(settings.at("warmup"));
  convergence.decay = parse_decay("--schedule", settings.at("schedule"));
  if (settings.at("checkpoint") != "none") convergence.checkpoint = settings.at("checkpoint");
  convergence.restart = settings.at("restart") == "yes";
  // The row of a continued training is evidence for its steps, and has the time of all of them.
  std::vector<std::string> same = network_options::step_parameters(dimensions);
  same.insert(same.end(), {"augment", "label_base"});
  for (const std::string& name : same) convergence.same_settings[name] = settings.at(name);
  return convergence;
}

/// Connects the ranks for the sum of gradients, unless the runner's own communicator is meant. The
/// reason if they cannot be connected.
std::optional<std::string> connect_gradients(const Settings& settings, CaseContext& context,
                                             TrainingRun& run) {
  Options options;
  options.settings = settings;
  options.settings["algorithm"] = settings.at("allreduce");
  options.settings["transport"] = settings.at("allreduce_transport");
  run.trainer.sums_on_device = options.settings["transport"] == gpu_transport;
  // The trainer stages gradients of a GPU for all others.
  if (!run.trainer.sums_on_device) options.settings["device"] = "cpu";
  if (settings.at("allreduce_transport") == launched_transport &&
      settings.at("allreduce") == "library" && settings.at("wire") == "none")
    return std::nullopt;
  auto made = connected_ranks(options, context);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(refusal->reason);
  run.gradients = std::move(std::get<std::unique_ptr<Communicator>>(made));
  return std::nullopt;
}

}  // namespace

std::vector<Dimension> NetworkBenchmark::dimensions() const {
  return network_options::dimensions(problem_dimensions());
}

void NetworkBenchmark::complete(Settings& settings, const RankCount& started) const {
  network_options::complete(settings, started, dimensions(),
                            network(settings.at("problem")).classes);
}

void NetworkBenchmark::expect_compatible(const std::vector<Case>& cases) const {
  network_options::expect_compatible(cases);
}

std::vector<std::string> NetworkBenchmark::step_parameters(const Settings& settings) const {
  if (is_inference(settings)) return {};
  return network_options::step_parameters(all_dimensions(*this));
}

/// The convergence beside it may be another row's: tables find that (analysis/trainings.hpp). A
/// training that missed its target and was kept shows as little as none.
std::string NetworkBenchmark::row_label(const nlohmann::json& row) const {
  const bool converged =
      row.value("metrics", nlohmann::json::object()).contains("time_to_accuracy_s");
  return row.contains("step_parameters") && !converged ? "throughput only" : "";
}

std::vector<std::string> NetworkBenchmark::candidates(const Settings& settings) const {
  return backends_of(settings.at("backend"), settings.at("device"));
}

std::unique_ptr<Problem> NetworkBenchmark::problem(const Settings& settings) const {
  return std::make_unique<NetworkProblem>(problem_of(*this, settings));
}

std::vector<double> NetworkBenchmark::working_sets(const Settings& settings) const {
  return problem_of(*this, settings)
      .operation_bytes(std::stoll(settings.at("batch")), network_options::stored(settings));
}

Result<std::unique_ptr<Workload>> NetworkBenchmark::prepare(const Case& selected,
                                                            CaseContext& context) const {
  const auto start = std::chrono::steady_clock::now();
  const Settings& settings = selected.settings;
  TrainingRun run;
  run.trainer = trainer_settings(network(settings.at("problem")), settings, context.seed);
  // On all ranks alike: the others would go on, and wait for this one.
  const std::string why_not = why_not_threads(run.trainer.executor.threads).value_or("");
  if (std::string why = fault_of_any(why_not, context.ranks); !why.empty())
    return Unsupported{std::move(why)};
  run.steps = std::stoi(settings.at("steps"));
  run.amounts = problem_of(*this, settings).amounts();
  if (is_inference(settings)) {
    if (auto why = network_options::why_not_inference(settings, dimensions()))
      return Unsupported{std::move(*why)};
    expect_network(run.trainer, settings);
    return inference_workload({run.trainer, run.steps, run.amounts, seconds_since(start)},
                              context.plugins, context.ranks);
  }
  run.data = training_data(settings, run.trainer, context.seed);
  run.cold = settings.at("page_cache") == "cold";
  run.convergence = convergence_settings(settings, dimensions());
  run.keep_unreached = settings.at("unreached") == "kept";
  if (run.convergence.epochs > 0) run.band = known_band(settings);
  if (context.ranks.rank() == 0)
    run.convergence.progress = [](const std::string& text) { std::cerr << text << '\n'; };
  if (auto why = connect_gradients(settings, context, run)) return Unsupported{std::move(*why)};
  run.create_seconds = seconds_since(start);
  expect_training(run, settings);
  run.claims = settings;
  run.definition = definition(settings.at("problem"));
  run.self_check = settings.at("self_check") == "yes";
  run.claimed_seed = context.seed;
  return training_workload(run, context.plugins, context.ranks);
}

std::unique_ptr<Communicator> NetworkBenchmark::connect(Plugins& plugins) const {
  return launched_ranks(plugins);
}

}  // namespace assay
