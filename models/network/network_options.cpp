#include "models/network/network_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "comm/algorithms/algorithm.hpp"
#include "comm/joined.hpp"
#include "core/base/error.hpp"
#include "core/base/numbers.hpp"
#include "models/input/input_sets.hpp"
#include "models/network/loss_scale.hpp"
#include "models/network/schedule.hpp"
#include "models/network/training_data.hpp"

namespace assay::network_options {
namespace {

constexpr const char* inference = "inference";
/// Dimensions that only a training has.
constexpr const char* of_training[] = {
    "data",      "augment",   "page_cache", "validation", "label_base",     "max_bad_samples",
    "epochs",    "target",    "warmup",     "schedule",   "checkpoint",     "restart",
    "optimizer", "rate",      "smoothing",  "loss_scale", "validate_every", "accumulate",
    "scaling",   "unreached", "trial",      "lag",        "self_check",     "weight_gradients"};
/// Those that only a training to an accuracy has; --epochs asks for one.
constexpr const char* of_epochs[] = {"validation",     "target",     "unreached",
                                     "validate_every", "checkpoint", "restart"};
/// Those that do not affect what a step computes: which images there are, how long a training
/// lasts.
constexpr const char* outside_step[] = {
    "augment", "data",   "epochs", "label_base", "max_bad_samples", "page_cache", "restart",
    "steps",   "target", "trial",  "unreached",  "validate_every",  "validation"};
constexpr std::uint64_t most_images = 1 << 20, most_steps = 1 << 30;

Dimension file(Dimension made) {
  made.traits.file = true;
  return made;
}

/// A file that is written: it does not affect what is measured.
Dimension unnamed(const char* name, const char* help, const char* otherwise) {
  Dimension made = make_dimension(name, help, {}, {otherwise}, "", otherwise);
  made.traits.in_id = false;
  return made;
}

/// Describes how the system does the work, not the work.
Dimension of_system(Dimension made) {
  made.traits.of_system = true;
  return made;
}

Dimension transport_dimension() {
  Dimension made = of_system(
      make_dimension("allreduce_transport",
                     "library that adds gradients over the ranks; auto: the launcher's MPI. "
                     "nccl adds those of GPUs where they are; the others stage them",
                     {launched_transport, "mpi", "mpich", "gloo", "oneccl", gpu_transport},
                     {launched_transport}, "", launched_transport));
  made.flags = {"allreduce_transport", "transport"};
  return made;
}

Dimension backend_dimension() {
  Dimension made = dimension::backend("norm", {measured});
  made.values.insert(made.values.begin(), measured);
  made.help =
      "backend of the operations; auto: measure all backends before timing and use the fastest one "
      "for each operation. Another backend computes operations that a backend lacks; the row lists "
      "them";
  return made;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : algorithms()) names.emplace_back(entry.name);
  return names;
}

std::vector<Dimension> of_computation() {
  return {
      make_dimension("direction",
                     "training: forward pass, backward pass and update; inference: forward pass",
                     {"training", inference}, {"training"}),
      dimension::precision({"fp64", "fp32", "tf32", "bf16", "fp16"}, {"fp32"}),
      make_dimension(
          "emulate",
          "store in bf16 or fp16 but compute in fp32, on any processor: shows how training "
          "converges, not how fast it would be",
          {"none", "bf16", "fp16"}, {"none"}, "", "none"),
      make_dimension(
          "weight_gradients",
          "gradients of filters with bf16 and fp16; 16bit: made in 16 bits from sums in fp32, and "
          "converted; wide: made in fp32; auto: 16bit on a GPU, whose libraries have no fast "
          "others, else wide",
          {}, {measured}, "", "wide"),
      backend_dimension()};
}

std::vector<Dimension> of_step() {
  return {make_dimension("batch", "images of one rank in a forward and backward pass", {}, {"16"},
                         "mb"),
          make_dimension(
              "accumulate",
              "batches of a step: their gradients are added before the allreduce and the update",
              {}, {"1"}, "", "1"),
          make_dimension(
              "lag",
              "steps between gradients and their update; 1: the next step applies them, so their "
              "allreduce may take until its end",
              {"0", "1"}, {"0"}, "", "0")};
}

std::vector<Dimension> of_data() {
  return {file(make_dimension("data",
                              "synthetic: one batch that stays in memory; learnable[:n60000v1000]: "
                              "generated images, n for training and v for validation; generated: "
                              "generated JPEG files; else TFRecord files or a folder of classes",
                              {}, {"synthetic"}, "", "synthetic")),
          make_dimension("augment",
                         "part of an image that training uses; crop+flip: 8 to 100 % of it, "
                         "mirrored or not; crop: never mirrored; shift: all but an eighth of "
                         "its sides; none: its centre",
                         augment_names.names(), {"crop+flip"}, "", "crop+flip"),
          make_dimension("page_cache",
                         "cached: files may be in the page cache; cold: they are evicted from "
                         "it before each timed step, and before training",
                         {"cached", "cold"}, {"cached"}, "", "cached"),
          file(make_dimension(
              "validation",
              "files that validate a training (--epochs) on files; none: those of --data, whose "
              "accuracy says nothing of other images",
              {}, {"none"}, "", "none")),
          make_dimension("label_base", "label of the first class in TFRecord files", {}, {"0"}, "",
                         "0"),
          make_dimension("max_bad_samples",
                         "largest number of bad samples that are skipped, of all ranks", {}, {"0"},
                         "", "0")};
}

std::vector<Dimension> of_length() {
  return {
      make_dimension(
          "steps", "number of timed steps; 0: as many as the timing options (--max-time, ...) need",
          {}, {"0"}, "", "0"),
      make_dimension("epochs",
                     "after the timed steps, train from the beginning for at most this many "
                     "epochs; 0: measure only throughput",
                     {}, {"0"}, "", "0"),
      make_dimension(
          "target", "validation accuracy that training (--epochs) must reach, and at which it ends",
          {}, {"0.759"}, "", "0.759"),
      make_dimension("unreached",
                     "a training that does not reach --target: incorrect: its row has the "
                     "state target missed and no numbers; kept (for studies): its row is ok, "
                     "without time to accuracy",
                     {"incorrect", "kept"}, {"incorrect"}, "", "incorrect"),
      make_dimension("validate_every", "validate every N epochs, and after the last one", {}, {"1"},
                     "", "1")};
}

Dimension self_check_dimension() {
  Dimension made = make_dimension(
      "self_check",
      "yes: before timing, train 5 steps of a small network with the same options, and "
      "compare its weights with those of a simple trainer in fp64 that shares no code",
      {"no", "yes"}, {"no"}, "", "no");
  made.traits.in_id = false;
  return made;
}

std::vector<Dimension> of_learning() {
  return {
      make_dimension("warmup", "epochs of linear warm-up of the learning rate", {}, {"0"}, "", "0"),
      make_dimension(
          "schedule",
          "decay of the learning rate: constant, cosine, step:0.1:30+60+80, poly:2[:END]", {},
          {"cosine"}, "", "cosine"),
      file(of_system(unnamed(
          "checkpoint",
          "file to write after every epoch (--epochs), of one training; none: no file", "none"))),
      make_dimension("restart", "continue the training from --checkpoint", {"no", "yes"}, {"no"},
                     "", "no"),
      make_dimension("optimizer", "update rule", update_rule_names(), {"sgd"}, "", "sgd"),
      make_dimension("rate", "learning rate for 256 images in a step", {}, {"0.1"}, "", "0.1"),
      make_dimension(
          "scaling",
          "learning rate for other numbers of images in a step: linear: in proportion; none: the "
          "same",
          {"linear", "none"}, {"linear"}, "", "linear"),
      make_dimension("trial",
                     "repetition with other initial parameters and another order of the images", {},
                     {"0"}, "", "0"),
      make_dimension(
          "loss_scale",
          "factor of the loss, so that 16-bit gradients do not underflow: none, fixed:1024, "
          "dynamic[:65536[:2000]]; auto: dynamic for training in fp16, else none",
          {}, {measured}, "", "none"),
      make_dimension("smoothing", "label smoothing", {}, {"0"}, "", "0"),
      self_check_dimension()};
}

std::vector<Dimension> of_ranks() {
  return {transport_dimension(),
          of_system(make_dimension(
              "allreduce", "algorithm that adds the gradients; library: the transport's own",
              algorithm_names(), {"library"}, "", "library")),
          make_dimension("wire", "type in which gradients are sent; none: their own",
                         {"none", "fp16", "bf16"}, {"none"}, "", "none"),
          found_dimension("ranks", "r"),
          found_dimension("nodes", "n"),
          dimension::threads(),
          dimension::device()};
}

void complete_numbers(Settings& settings) {
  const auto whole = [&](const char* name, const char* flag, std::uint64_t least,
                         std::uint64_t most) {
    settings[name] = std::to_string(whole_number(flag, settings.at(name), least, most));
  };
  whole("batch", "--batch", 1, most_images);
  whole("label_base", "--label-base", 0, most_images);
  whole("max_bad_samples", "--max-bad-samples", 0, most_images);
  whole("accumulate", "--accumulate", 1, most_images);
  whole("steps", "--steps", 0, most_steps);
  whole("epochs", "--epochs", 0, most_steps);
  whole("validate_every", "--validate-every", 1, most_steps);
  whole("trial", "--trial", 0, most_images);
  whole("warmup", "--warmup", 0, most_steps);
  settings["rate"] =
      fmt::format("{}", positive_number("--rate", settings.at("rate"), "learning rate", 1e3));
  settings["smoothing"] =
      fmt::format("{}", number_between("--smoothing", settings.at("smoothing"), 0, 0.999));
  settings["target"] = fmt::format("{}", number_between("--target", settings.at("target"), 0, 1));
  settings["schedule"] = to_text(parse_decay("--schedule", settings.at("schedule")));
}

void complete_data(Settings& settings, std::int64_t classes) {
  const std::int64_t label_base = std::stoll(settings.at("label_base"));
  const std::string given = settings.at("data"), validation = settings.at("validation");
  for (const char* files : {"data", "validation"})
    if (settings.at(files) != "none")
      settings[files] = canonical_data(settings.at(files), label_base, classes);
  if (!is_files(settings.at("data"))) {  // of files alone
    settings["augment"] = "crop+flip";
    settings["page_cache"] = "cached";
    settings["validation"] = "none";  // generated images have their own
    settings["label_base"] = settings["max_bad_samples"] = "0";
  } else if (validation != "none") {
    // Generated sets of one seed have the same first images.
    if (settings.at("validation") == settings.at("data") ||
        (is_generated(given) && is_generated(validation)))
      throw InputError(fmt::format(
          "--validation {}: these are images of --data, whose accuracy says nothing of other "
          "images. Give others, or leave it out.",
          validation));
    expect_same_classes(given, validation, label_base, classes);
  }
  if (settings.at("epochs") != "0" && is_resident(settings.at("data")))
    throw InputError(
        "--epochs: one batch that stays in memory has no validation. Use --data learnable, or "
        "files.");
  if (settings.at("restart") == "yes" && settings.at("checkpoint") == "none")
    throw InputError("--restart yes needs a --checkpoint. Name the file.");
}

/// Without a training to an accuracy: nothing is validated, written or continued.
void complete_without_epochs(Settings& settings, const std::vector<Dimension>& dimensions) {
  for (const Dimension& dimension : dimensions)
    if (std::count(std::begin(of_epochs), std::end(of_epochs), dimension.name) > 0)
      settings[dimension.name] = dimension.defaults.front();
}

void complete_weight_gradients(Settings& settings) {
  std::string& made = settings["weight_gradients"];
  const bool narrow = size_of(storage(stored(settings))) == 2;
  if (made != "16bit" && made != "wide" && made != measured)
    throw InputError(
        fmt::format("--weight-gradients {} is unknown. Use 16bit, wide or auto.", made));
  if (made == "16bit" && !narrow)
    throw InputError(
        fmt::format("--weight-gradients 16bit: {} has no 16-bit tensors. Leave it out.",
                    name(stored(settings))));
  if (made == measured)
    made = narrow && !is_inference(settings) && settings.at("device") != "cpu" ? "16bit" : "wide";
}

void complete_loss_scale(Settings& settings) {
  std::string& scale = settings["loss_scale"];
  if (scale == measured)
    scale = !is_inference(settings) && stored(settings) == Precision::fp16 ? "dynamic" : "none";
  scale = to_text(parse_loss_scale("--loss-scale", scale));
}

}  // namespace

std::vector<Dimension> dimensions(const std::vector<Dimension>& problem) {
  std::vector<Dimension> all;
  for (const auto& part :
       {of_computation(), problem, of_step(), of_data(), of_length(), of_learning(), of_ranks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<std::string> step_parameters(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> names;
  for (const Dimension& axis : dimensions)
    if (axis.traits.in_id && axis.field.empty() &&
        std::find(std::begin(outside_step), std::end(outside_step), axis.name) ==
            std::end(outside_step))
      names.push_back(axis.name);
  std::sort(names.begin(), names.end());
  return names;
}

void complete(Settings& settings, const RankCount& started,
              const std::vector<Dimension>& dimensions, std::int64_t classes) {
  complete_numbers(settings);
  complete_data(settings, classes);
  if (settings.at("epochs") == "0") complete_without_epochs(settings, dimensions);
  if (settings.at("emulate") != "none" && settings.at("precision") != "fp32")
    throw InputError(fmt::format("--emulate {} computes in fp32, not in {}. Leave --precision out.",
                                 settings.at("emulate"), settings.at("precision")));
  complete_loss_scale(settings);
  complete_weight_gradients(settings);
  if (started.ranks == 1 || is_inference(settings)) {  // nothing is added
    settings["allreduce_transport"] = launched_transport;
    settings["allreduce"] = "library";
    settings["wire"] = "none";
  }
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] = std::to_string(started.nodes);
}

namespace {

/// The same for all spellings of a path.
std::filesystem::path plain_path(const std::filesystem::path& file) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(file),
                              plain = std::filesystem::weakly_canonical(whole, unknown);
  return unknown ? whole.lexically_normal() : plain;
}

}  // namespace

void expect_compatible(const std::vector<Case>& cases) {
  std::map<std::filesystem::path, int> trainings;  // by their file
  for (const Case& each : cases)
    if (const Settings& of = each.settings;
        !is_inference(of) && of.at("epochs") != "0" && of.at("checkpoint") != "none")
      ++trainings[plain_path(of.at("checkpoint"))];
  for (const auto& [file, count] : trainings)
    if (count > 1)
      throw InputError(fmt::format(
          "--checkpoint {}: {} cases train, and a checkpoint has one training. Give one case, or "
          "run each in a command of its own, with its own file.",
          file.string(), count));
}

bool is_inference(const Settings& settings) { return settings.at("direction") == inference; }

Precision stored(const Settings& settings) {
  const std::string& emulated = settings.at("emulate");
  return precision(emulated == "none" ? settings.at("precision") : emulated);
}

std::optional<std::string> why_not_inference(const Settings& settings,
                                             const std::vector<Dimension>& dimensions) {
  for (const Dimension& dimension : dimensions) {
    std::string flag = dimension.name;
    if (std::count(std::begin(of_training), std::end(of_training), flag) == 0 ||
        settings.at(flag) == dimension.omit)
      continue;
    std::replace(flag.begin(), flag.end(), '_', '-');
    return fmt::format("--{} {} is for training (inference learns nothing). Leave it out.", flag,
                       settings.at(dimension.name));
  }
  return std::nullopt;
}

}  // namespace assay::network_options
