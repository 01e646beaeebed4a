#include "models/resnet50/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <optional>

#include "comm/algorithms/algorithm.hpp"
#include "comm/joined.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "core/machine/threads.hpp"
#include "core/program/launched_ranks.hpp"
#include "models/network/schedule.hpp"
#include "models/resnet50/inference_workload.hpp"
#include "models/resnet50/resnet_problem.hpp"
#include "models/resnet50/training_workload.hpp"

namespace assay {
namespace {

constexpr const char* measured = "auto";
constexpr const char* inference = "inference";
/// Options that say how a network learns.
constexpr const char* of_training[] = {
    "data",      "augment",   "page_cache", "validation", "label_base",     "max_bad_samples",
    "epochs",    "target",    "warmup",     "schedule",   "checkpoint",     "restart",
    "optimizer", "rate",      "smoothing",  "loss_scale", "validate_every", "accumulate",
    "scaling",   "unreached", "trial",      "lag"};
/// Between those of two trials: more than a run draws.
constexpr std::uint64_t seeds_of_trial = 2654435761;
constexpr std::uint64_t most_images = 1 << 20, most_steps = 1 << 30;

Dimension axis(const char* name, const char* help, std::vector<std::string> values,
               std::vector<std::string> defaults, const char* prefix = "", const char* omit = "") {
  Dimension made;
  made.name = name;
  made.help = help;
  made.values = std::move(values);
  made.defaults = std::move(defaults);
  made.prefix = prefix;
  made.omit = omit;
  return made;
}

Dimension counted(const char* name, const char* prefix) {
  Dimension made = axis(name, "", {}, {}, prefix);
  made.found = true;
  return made;
}

/// Of which images a training has, or how long it goes on: its steps compute the same.
Dimension outside_step(Dimension made) {
  made.in_step = false;
  return made;
}

/// Of a file that is written: equal work is one series, wherever it is.
Dimension unnamed(const char* name, const char* help, const char* otherwise) {
  Dimension made = axis(name, help, {}, {otherwise}, "", otherwise);
  made.in_id = false;
  return made;
}

Dimension transport_dimension() {
  Dimension made = axis("allreduce_transport",
                        "library that adds gradients over the ranks; auto: the launcher's MPI",
                        {"auto", "mpi", "mpich", "gloo", "oneccl"}, {"auto"}, "", "auto");
  made.also = "transport";
  return made;
}

Dimension backend_dimension() {
  Dimension made = dimension::backend("norm", {measured});
  made.values.insert(made.values.begin(), measured);
  made.help =
      "backend of the operations; auto: of each operation the fastest backend, found by measuring "
      "before timing; what a backend lacks is computed by another one, which the row tells";
  return made;
}

/// Those that are asked for each operation, in this order.
std::vector<std::string> backends_of(const std::string& backend, const std::string& device) {
  if (device != "cpu") return {backend == measured ? "cuda" : backend};
  if (backend == measured) return {"native", "onednn", "blas", "reference"};
  if (backend == "reference") return {"reference"};
  return {backend, backend == "native" ? "onednn" : "native", "blas", "reference"};
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : algorithms()) names.emplace_back(entry.name);
  return names;
}

class Resnet50Benchmark final : public Benchmark {
 public:
  std::string name() const override { return "resnet50"; }
  std::string description() const override {
    return "Training and inference of ResNet-50 v1.5, in images per second: every operation "
           "verified. Several "
           "ranks train together: mpirun -n RANKS.";
  }
  std::vector<Example> examples() const override {
    return {{"assay-resnet50 --problem d18w8s32c10 --batch 4", "a small network"},
            {"assay-resnet50 --problem d18w8s32c10 --batch 4 --backend native,onednn",
             "by each of two backends"},
            {"assay-resnet50 --direction inference --problem d18w8s32c10 --batch 4", "inference"}};
  }

  std::vector<Dimension> dimensions() const override {
    Dimension problem = dimension::problem({"imagenet"});
    problem.help =
        "network: depth (18 or 50), channels of the first layer, side of an image, classes";
    return {
        axis("direction",
             "training: forward pass, backward pass and update; inference: forward pass",
             {"training", inference}, {"training"}),
        dimension::precision({"fp64", "fp32", "bf16", "fp16"}, {"fp32"}),
        axis("emulate",
             "store in bf16 or fp16 but compute in fp32, on any processor: shows how training "
             "converges, not how fast it would be",
             {"none", "bf16", "fp16"}, {"none"}, "", "none"),
        backend_dimension(),
        std::move(problem),
        dimension::field("depth", "d", "number of layers of the network", "50", {"18", "50"}),
        dimension::field("width", "w", "channels of the first layer", "64"),
        dimension::field("image_size", "s", "height and width of the images", "224"),
        dimension::field("classes", "c", "number of classes", "1000"),
        axis("batch", "images of one rank in a forward and backward pass", {}, {"16"}, "mb"),
        axis("accumulate",
             "batches of a step: their gradients are added before the allreduce and the update", {},
             {"1"}, "", "1"),
        axis("lag",
             "steps from computing gradients to their update; 1: the next step applies them, so "
             "that "
             "their allreduce may take until its end",
             {"0", "1"}, {"0"}, "", "0"),
        outside_step(
            axis("data",
                 "synthetic: one batch that stays in memory; learnable[:n60000v1000]: generated "
                 "images, of which v validate; or files: TFRecord files or a folder of classes",
                 {}, {"synthetic"}, "", "synthetic")),
        outside_step(axis("augment",
                          "views of an image in training: crop+flip: 8 to 100 % of it, mirrored or "
                          "not; crop: never mirrored; shift: all of it but an eighth of its sides; "
                          "none: its centre",
                          augment_names.names(), {"crop+flip"}, "", "crop+flip")),
        outside_step(axis("page_cache",
                          "cached: files may be in the page cache; cold: they leave it before each "
                          "timed step, and before training",
                          {"cached", "cold"}, {"cached"}, "", "cached")),
        outside_step(axis("validation", "validation files; none: those of --data", {}, {"none"}, "",
                          "none")),
        outside_step(
            axis("label_base", "label of the first class in TFRecord files", {}, {"0"}, "", "0")),
        outside_step(axis("max_bad_samples", "largest number of bad samples that are skipped", {},
                          {"0"}, "", "0")),
        outside_step(
            axis("steps",
                 "number of timed steps; 0: as many as the timing options (--max-time, ...) need",
                 {}, {"0"}, "", "0")),
        outside_step(axis(
            "epochs",
            "after the timed steps, train from the beginning, for at most this many epochs; 0: "
            "measure throughput only",
            {}, {"0"}, "", "0")),
        outside_step(axis("target",
                          "validation accuracy that training must reach, and at which it ends", {},
                          {"0.759"}, "", "0.759")),
        outside_step(
            axis("unreached",
                 "row of a training that does not reach --target: incorrect, or (for studies) kept "
                 "without time to accuracy",
                 {"incorrect", "kept"}, {"incorrect"}, "", "incorrect")),
        outside_step(axis("validate_every", "validate every N epochs, and after the last one", {},
                          {"1"}, "", "1")),
        axis("warmup", "epochs of linear warm-up of the learning rate", {}, {"0"}, "", "0"),
        axis("schedule",
             "decay of the learning rate: constant, cosine, step:0.1:30+60+80, poly:2[:END]", {},
             {"cosine"}, "", "cosine"),
        unnamed("checkpoint", "file to write after every epoch; none: no file", "none"),
        outside_step(axis("restart", "continue the training from --checkpoint", {"no", "yes"},
                          {"no"}, "", "no")),
        axis("optimizer", "update rule", update_rule_names(), {"sgd"}, "", "sgd"),
        axis("rate", "learning rate for 256 images in a step", {}, {"0.1"}, "", "0.1"),
        axis("scaling",
             "learning rate with other than 256 images in a step: linear: in proportion; none: the "
             "same",
             {"linear", "none"}, {"linear"}, "", "linear"),
        outside_step(axis(
            "trial", "repetition with other initial parameters and another order of the images", {},
            {"0"}, "", "0")),
        axis("loss_scale",
             "factor of the loss that keeps 16-bit gradients above 0: none, fixed:1024, "
             "dynamic[:65536[:2000]]; auto: dynamic for training in fp16, else none",
             {}, {measured}, "", "none"),
        axis("smoothing", "label smoothing", {}, {"0"}, "", "0"),
        transport_dimension(),
        axis("allreduce", "algorithm that adds the gradients; library: the transport's own",
             algorithm_names(), {"library"}, "", "library"),
        axis("wire", "gradients are sent rounded to 16 bits; none: as they are",
             {"none", "fp16", "bf16"}, {"none"}, "", "none"),
        counted("ranks", "r"),
        counted("nodes", "n"),
        dimension::threads(),
        dimension::device()};
  }

  std::string canonical(const std::string& descriptor) const override {
    return to_descriptor(parse_resnet(descriptor));
  }

  void complete(Settings& settings, const RankCount& started) const override {
    settings["batch"] =
        std::to_string(whole_number("--batch", settings.at("batch"), 1, most_images));
    settings["rate"] =
        fmt::format("{}", positive_number("--rate", settings.at("rate"), "learning rate", 1e3));
    settings["smoothing"] =
        fmt::format("{}", number_between("--smoothing", settings.at("smoothing"), 0, 0.999));
    const auto whole = [&](const char* name, const char* flag, std::uint64_t least,
                           std::uint64_t most) {
      settings[name] = std::to_string(whole_number(flag, settings.at(name), least, most));
    };
    whole("label_base", "--label-base", 0, most_images);
    whole("max_bad_samples", "--max-bad-samples", 0, most_images);
    whole("accumulate", "--accumulate", 1, most_images);
    whole("steps", "--steps", 0, most_steps);
    whole("epochs", "--epochs", 0, most_steps);
    whole("validate_every", "--validate-every", 1, most_steps);
    whole("trial", "--trial", 0, most_images);
    whole("warmup", "--warmup", 0, most_steps);
    settings["target"] = fmt::format("{}", number_between("--target", settings.at("target"), 0, 1));
    settings["schedule"] = to_text(parse_decay("--schedule", settings.at("schedule")));
    const std::int64_t classes = parse_resnet(settings.at("problem")).classes;
    for (const char* files : {"data", "validation"})
      if (settings.at(files) != "none")
        settings[files] =
            canonical_data(settings.at(files), std::stoll(settings.at("label_base")), classes);
    if (!is_files(settings.at("data"))) {  // of files alone
      settings["augment"] = "crop+flip";
      settings["page_cache"] = "cached";
    }
    if (settings.at("epochs") != "0" && is_resident(settings.at("data")))
      throw InputError(
          "--epochs: one batch that stays in memory has no validation. Use --data learnable, or "
          "files.");
    if (settings.at("restart") == "yes" && settings.at("checkpoint") == "none")
      throw InputError("--restart yes needs a --checkpoint. Name the file.");
    if (settings.at("emulate") != "none" && settings.at("precision") != "fp32")
      throw InputError(
          fmt::format("--emulate {} computes in fp32, not in {}. Leave --precision out.",
                      settings.at("emulate"), settings.at("precision")));
    std::string& scale = settings["loss_scale"];
    if (scale == measured)
      scale = settings.at("direction") != inference && stored(settings) == Precision::fp16
                  ? "dynamic"
                  : "none";
    scale = to_text(parse_loss_scale("--loss-scale", scale));
    if (started.ranks == 1 || settings.at("direction") == inference) {  // nothing is added
      settings["allreduce_transport"] = "auto";
      settings["allreduce"] = "library";
      settings["wire"] = "none";
    }
    settings["ranks"] = std::to_string(started.ranks);
    settings["nodes"] = std::to_string(started.nodes);
  }

  bool ranks_share(const Settings&) const override { return true; }
  bool trains(const Settings& settings) const override {
    return settings.at("direction") != inference;
  }

  std::unique_ptr<Problem> problem(const Settings& settings) const override {
    return std::make_unique<ResnetProblem>(parse_resnet(settings.at("problem")), images(settings),
                                           settings.at("direction") != inference);
  }

  std::vector<double> working_sets(const Settings& settings) const override {
    return ResnetProblem(parse_resnet(settings.at("problem")), images(settings),
                         settings.at("direction") != inference)
        .operation_bytes(std::stoll(settings.at("batch")), stored(settings));
  }

  Result<std::unique_ptr<Workload>> prepare(const Case& selected,
                                            CaseContext& context) const override {
    const auto start = std::chrono::steady_clock::now();
    const Settings& settings = selected.settings;
    TrainingRun run;
    TrainerSettings& of = run.trainer;
    of.shape = parse_resnet(settings.at("problem"));
    of.batch = std::stoll(settings.at("batch"));
    of.accumulate = std::stoll(settings.at("accumulate"));
    of.lag = std::stoll(settings.at("lag"));
    of.precision = stored(settings);
    of.executor.wide_products = settings.at("emulate") != "none";
    of.learning.rule = update_rule(settings.at("optimizer"));
    of.learning.smoothing = std::stod(settings.at("smoothing"));
    of.loss_scale = parse_loss_scale("--loss-scale", settings.at("loss_scale"));
    of.executor.backends = backends_of(settings.at("backend"), settings.at("device"));
    of.executor.measured = settings.at("backend") == measured;
    of.executor.threads = std::stoi(settings.at("threads"));
    of.executor.device = settings.at("device");
    of.seed = context.seed + std::stoull(settings.at("trial")) * seeds_of_trial;
    if (of.executor.device != "cpu" && context.ranks.size() > 1 &&
        settings.at("direction") != inference)
      return Unsupported{
          "the ranks add gradients in memory of the host, where those of a GPU are not. Use one "
          "rank, or --device cpu."};
    if (auto why = why_not_threads(of.executor.threads)) return Unsupported{std::move(*why)};
    run.steps = std::stoi(settings.at("steps"));
    if (settings.at("direction") == inference) {
      if (auto why = why_not_inference(settings)) return Unsupported{std::move(*why)};
      return inference_workload({of, run.steps, problem(settings)->amounts(), seconds_since(start)},
                                context.plugins, context.ranks);
    }
    run.data.data = settings.at("data");
    if (settings.at("validation") != "none") run.data.validation = settings.at("validation");
    run.data.seed = context.seed;
    run.data.classes = of.shape.classes;
    run.data.size = static_cast<int>(of.shape.image);
    run.cold = settings.at("page_cache") == "cold";
    run.data.augment = augment_names.at("augment", settings.at("augment"));
    run.data.label_base = std::stoll(settings.at("label_base"));
    run.data.max_bad_samples = std::stoll(settings.at("max_bad_samples"));
    run.data.threads = of.executor.threads;
    ConvergenceSettings& to = run.convergence;
    to.epochs = std::stoll(settings.at("epochs"));
    to.target = std::stod(settings.at("target"));
    to.rate = std::stod(settings.at("rate"));
    if (settings.at("scaling") == "linear") to.rate = scaled_rate(to.rate, images(settings));
    run.keep_unreached = settings.at("unreached") == "kept";
    to.validate_every = std::stoll(settings.at("validate_every"));
    to.warmup_epochs = std::stoll(settings.at("warmup"));
    to.decay = parse_decay("--schedule", settings.at("schedule"));
    if (settings.at("checkpoint") != "none") to.checkpoint = settings.at("checkpoint");
    to.restart = settings.at("restart") == "yes";
    if (to.epochs > 0) run.band = loss_band(settings, dimensions());
    if (context.ranks.rank() == 0)
      to.progress = [](const std::string& text) { std::cerr << text << '\n'; };
    if (auto why = add_gradients(settings, context, run.gradients))
      return Unsupported{std::move(*why)};
    run.amounts = problem(settings)->amounts();
    run.create_seconds = seconds_since(start);
    return training_workload(run, context.plugins, context.ranks);
  }

  std::unique_ptr<Communicator> connect(Plugins& plugins) const override {
    return launched_ranks(plugins);
  }

 private:
  /// Of activations and their gradients.
  static Precision stored(const Settings& settings) {
    const std::string& emulated = settings.at("emulate");
    return precision(emulated == "none" ? settings.at("precision") : emulated);
  }
  /// What adds gradients in place of the launcher's MPI, or why it cannot.
  static std::optional<std::string> add_gradients(const Settings& settings, CaseContext& context,
                                                  std::shared_ptr<Communicator>& to) {
    Options options;
    options.settings = settings;
    options.settings["algorithm"] = settings.at("allreduce");
    std::string& transport = options.settings["transport"] = settings.at("allreduce_transport");
    if (transport == "auto" && settings.at("allreduce") == "library" &&
        settings.at("wire") == "none")
      return std::nullopt;
    if (transport == "auto") transport = "mpi";
    auto made = host_ranks(options, context);
    if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(refusal->reason);
    to = std::move(std::get<std::unique_ptr<Communicator>>(made));
    return std::nullopt;
  }
  static std::int64_t images(const Settings& settings) {
    return std::stoll(settings.at("batch")) * std::stoll(settings.at("ranks")) *
           std::stoll(settings.at("accumulate"));
  }
  std::optional<std::string> why_not_inference(const Settings& settings) const {
    for (const Dimension& dimension : dimensions()) {
      std::string flag = dimension.name;
      if (std::count(std::begin(of_training), std::end(of_training), flag) == 0 ||
          settings.at(flag) == dimension.omit)
        continue;
      std::replace(flag.begin(), flag.end(), '_', '-');
      return fmt::format("--{} {} says how a network learns: inference has no such choice", flag,
                         settings.at(dimension.name));
    }
    return std::nullopt;
  }
};

}  // namespace

const Benchmark& resnet50_benchmark() {
  static const Resnet50Benchmark benchmark;
  return benchmark;
}

}  // namespace assay
