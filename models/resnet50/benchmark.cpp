#include "models/resnet50/benchmark.hpp"

#include <chrono>
#include <iostream>
#include <optional>

#include "comm/joined.hpp"
#include "core/base/clock.hpp"
#include "core/machine/threads.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/launched_ranks.hpp"
#include "models/network/schedule.hpp"
#include "models/resnet50/inference_workload.hpp"
#include "models/resnet50/options.hpp"
#include "models/resnet50/prepared_as_claimed.hpp"
#include "models/resnet50/resnet_problem.hpp"
#include "models/resnet50/training_workload.hpp"

namespace assay {
namespace {

using resnet50::is_inference;

/// Between the seeds of two trials: more than a run draws.
constexpr std::uint64_t seeds_of_trial = 2654435761;

/// Candidates for each operation, in the order of preference.
std::vector<std::string> backends_of(const std::string& backend, const std::string& device) {
  const bool measured = backend == resnet50::measured;
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

ResnetProblem problem_of(const Settings& settings) {
  return {parse_resnet(settings.at("problem")), images(settings), !is_inference(settings)};
}

TrainerSettings network_of(const Settings& settings, std::uint64_t seed) {
  TrainerSettings of;
  of.shape = parse_resnet(settings.at("problem"));
  of.batch = std::stoll(settings.at("batch"));
  of.accumulate = std::stoll(settings.at("accumulate"));
  of.lag = std::stoll(settings.at("lag"));
  of.precision = resnet50::stored(settings);
  of.learning.rule = update_rule(settings.at("optimizer"));
  of.learning.smoothing = std::stod(settings.at("smoothing"));
  of.learning.narrow_gradients = settings.at("weight_gradients") == "16bit";
  of.loss_scale = parse_loss_scale("--loss-scale", settings.at("loss_scale"));
  of.executor.wide_products = settings.at("emulate") != "none";
  of.executor.backends = backends_of(settings.at("backend"), settings.at("device"));
  of.executor.measured = settings.at("backend") == resnet50::measured;
  of.executor.threads = std::stoi(settings.at("threads"));
  of.executor.device = settings.at("device");
  of.seed = seed + std::stoull(settings.at("trial")) * seeds_of_trial;
  return of;
}

TrainingData data_of(const Settings& settings, const TrainerSettings& network, std::uint64_t seed) {
  TrainingData from;
  from.data = settings.at("data");
  if (settings.at("validation") != "none") from.validation = settings.at("validation");
  from.seed = seed;
  from.classes = network.shape.classes;
  from.size = static_cast<int>(network.shape.image);
  from.augment = augment_names.at("augment", settings.at("augment"));
  from.label_base = std::stoll(settings.at("label_base"));
  from.max_bad_samples = std::stoll(settings.at("max_bad_samples"));
  from.threads = network.executor.threads;
  return from;
}

ConvergenceSettings convergence_of(const Settings& settings) {
  ConvergenceSettings to;
  to.epochs = std::stoll(settings.at("epochs"));
  to.target = std::stod(settings.at("target"));
  to.rate = std::stod(settings.at("rate"));
  if (settings.at("scaling") == "linear") to.rate = scaled_rate(to.rate, images(settings));
  to.validate_every = std::stoll(settings.at("validate_every"));
  to.warmup_epochs = std::stoll(settings.at("warmup"));
  to.decay = parse_decay("--schedule", settings.at("schedule"));
  if (settings.at("checkpoint") != "none") to.checkpoint = settings.at("checkpoint");
  to.restart = settings.at("restart") == "yes";
  // The row of a continued training is evidence for its steps, and has the time of all of them.
  std::vector<std::string> same = step_parameters(resnet50::dimensions());
  same.insert(same.end(), {"augment", "label_base"});
  for (const std::string& name : same) to.same_settings[name] = settings.at(name);
  return to;
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

class Resnet50Benchmark final : public Benchmark {
 public:
  std::string name() const override { return "resnet50"; }
  std::string description() const override {
    return "Training and inference of ResNet-50 v1.5, in images per second, with every operation "
           "verified. Several ranks train together: mpirun -n RANKS.";
  }
  std::vector<Example> examples() const override {
    return {{"assay-resnet50 --problem d18w8s32c10 --batch 4", "a small network"},
            {"assay-resnet50 --problem d18w8s32c10 --batch 4 --backend native,onednn",
             "by each of two backends"},
            {"assay-resnet50 --direction inference --problem d18w8s32c10 --batch 4", "inference"}};
  }

  std::vector<Dimension> dimensions() const override { return resnet50::dimensions(); }
  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_resnet(descriptor));
  }
  void complete(Settings& settings, const RankCount& started) const override {
    resnet50::complete(settings, started);
  }
  void expect_compatible(const std::vector<Case>& cases) const override {
    resnet50::expect_compatible(cases);
  }
  bool ranks_share(const Settings&) const override { return true; }
  bool trains(const Settings& settings) const override { return !is_inference(settings); }
  std::vector<std::string> candidates(const Settings& settings) const override {
    return backends_of(settings.at("backend"), settings.at("device"));
  }
  std::unique_ptr<Problem> problem(const Settings& settings) const override {
    return std::make_unique<ResnetProblem>(problem_of(settings));
  }
  std::vector<double> working_sets(const Settings& settings) const override {
    return problem_of(settings).operation_bytes(std::stoll(settings.at("batch")),
                                                resnet50::stored(settings));
  }

  Result<std::unique_ptr<Workload>> prepare(const Case& selected,
                                            CaseContext& context) const override {
    const auto start = std::chrono::steady_clock::now();
    const Settings& settings = selected.settings;
    TrainingRun run;
    run.trainer = network_of(settings, context.seed);
    // On all ranks alike: the others would go on, and wait for this one.
    const std::string why_not = why_not_threads(run.trainer.executor.threads).value_or("");
    if (std::string why = fault_of_any(why_not, context.ranks); !why.empty())
      return Unsupported{std::move(why)};
    run.steps = std::stoi(settings.at("steps"));
    run.amounts = problem_of(settings).amounts();
    if (is_inference(settings)) {
      if (auto why = resnet50::why_not_inference(settings)) return Unsupported{std::move(*why)};
      expect_network(run.trainer, settings);
      return inference_workload({run.trainer, run.steps, run.amounts, seconds_since(start)},
                                context.plugins, context.ranks);
    }
    run.data = data_of(settings, run.trainer, context.seed);
    run.cold = settings.at("page_cache") == "cold";
    run.convergence = convergence_of(settings);
    run.keep_unreached = settings.at("unreached") == "kept";
    if (run.convergence.epochs > 0) run.band = loss_band(settings, dimensions());
    if (context.ranks.rank() == 0)
      run.convergence.progress = [](const std::string& text) { std::cerr << text << '\n'; };
    if (auto why = connect_gradients(settings, context, run)) return Unsupported{std::move(*why)};
    run.create_seconds = seconds_since(start);
    expect_training(run, settings);
    run.claims = settings;
    run.self_check = settings.at("self_check") == "yes";
    run.claimed_seed = context.seed;
    return training_workload(run, context.plugins, context.ranks);
  }

  std::unique_ptr<Communicator> connect(Plugins& plugins) const override {
    return launched_ranks(plugins);
  }
};

}  // namespace

const Benchmark& resnet50_benchmark() {
  static const Resnet50Benchmark benchmark;
  return benchmark;
}

}  // namespace assay
