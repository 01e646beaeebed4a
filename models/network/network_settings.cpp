#include "models/network/network_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "comm/joined.hpp"
#include "comm/layers/control.hpp"
#include "core/base/error.hpp"
#include "core/program/settings_reader.hpp"
#include "models/input/input_sets.hpp"
#include "models/network/loss_scale.hpp"
#include "models/network/network_options.hpp"
#include "models/network/schedule.hpp"

namespace assay {
namespace {

using network_options::measured;

/// Options that only a training to an accuracy has; --epochs asks for one.
constexpr const char* of_epochs[] = {"validation",     "target",     "unreached",
                                     "validate_every", "checkpoint", "restart"};
constexpr std::uint64_t most_images = 1 << 20, most_steps = 1 << 30;

/// Reads all numbers, even if they have no effect in this case.
void read_numbers(SettingsReader& reader, NetworkSettings& network) {
  TrainerSettings& trainer = network.run.trainer;
  TrainingData& data = network.run.data;
  ConvergenceSettings& convergence = network.run.convergence;
  reader.whole("batch", trainer.batch, 1, most_images);
  reader.whole("label_base", data.label_base, 0, most_images);
  reader.whole("max_bad_samples", data.max_bad_samples, 0, most_images);
  reader.whole("accumulate", trainer.accumulate, 1, most_images);
  reader.whole("steps", network.run.steps, 0, most_steps);
  reader.whole("epochs", convergence.epochs, 0, most_steps);
  reader.whole("validate_every", convergence.validate_every, 1, most_steps);
  reader.whole("trial", network.trial, 0, most_images);
  reader.whole("warmup", convergence.warmup_epochs, 0, most_steps);
  reader.positive("rate", convergence.rate, "learning rate", 1e3);
  reader.number("smoothing", trainer.learning.smoothing, 0, 0.999);
  reader.number("target", convergence.target, 0, 1);
  reader.number("weight_decay", trainer.learning.weight_decay, 0, 1);
  reader.number("beta1", trainer.learning.beta1, 0, 1 - 1e-9);
  reader.number("beta2", trainer.learning.beta2, 0, 1 - 1e-9);
  reader.number("alpha", trainer.learning.alpha, 0, 1 - 1e-9);
  reader.number("epsilon", trainer.learning.epsilon, 1e-30, 1);
  convergence.decay = parse_decay("--schedule", reader.text("schedule"));
  reader.whole("threads", trainer.executor.threads, 1, most_steps);
}

void complete_data(Settings& settings, SettingsReader& reader, TrainingData& data,
                   std::int64_t epochs) {
  const std::string training_set = settings.at("data"), validation = settings.at("validation");
  for (const char* files : {"data", "validation"})
    if (settings.at(files) != "none")
      settings[files] = canonical_data(settings.at(files), data.label_base, data.classes);
  data.data = settings.at("data");
  if (is_files(data.data) && (!data.input.is_photograph() || data.labels != Labels::per_sample))
    throw InputError(fmt::format(
        "--data {}: files have square images of three colours, and this network reads {} x {} x {} "
        "numbers. Use --data learnable, or synthetic.",
        training_set, data.input.channels, data.input.height, data.input.width));
  if (!is_files(data.data)) {  // these settings belong to files
    settings["augment"] = "crop+flip";
    settings["page_cache"] = "cached";
    settings["validation"] = "none";  // generated data include validation images
    reader.set("label_base", data.label_base, 0);
    reader.set("max_bad_samples", data.max_bad_samples, 0);
  } else if (validation != "none") {
    // Generated sets share a seed, so their first images are the same.
    if (settings.at("validation") == data.data ||
        (is_generated(training_set) && is_generated(validation)))
      throw InputError(fmt::format(
          "--validation {}: these are images of --data, whose accuracy says nothing of other "
          "images. Give others, or leave it out.",
          validation));
    expect_same_classes(training_set, validation, data.label_base, data.classes);
  }
  if (epochs > 0 && is_resident(data.data))
    throw InputError(
        "--epochs: one batch that stays in memory has no validation. Use --data learnable, or "
        "files.");
  if (settings.at("restart") == "yes" && settings.at("checkpoint") == "none")
    throw InputError("--restart yes needs a --checkpoint. Name the file.");
}

/// Resets the settings that only a training to an accuracy uses: other trainings validate, write
/// and continue nothing.
void complete_without_epochs(Settings& settings, const std::vector<Dimension>& dimensions,
                             SettingsReader& reader, ConvergenceSettings& convergence) {
  for (const Dimension& dimension : dimensions)
    if (std::count(std::begin(of_epochs), std::end(of_epochs), dimension.name) > 0)
      settings[dimension.name] = dimension.defaults.front();
  reader.number("target", convergence.target, 0, 1);
  reader.whole("validate_every", convergence.validate_every, 1, most_steps);
}

void complete_weight_gradients(Settings& settings, const NetworkSettings& network) {
  std::string& type = settings["weight_gradients"];
  const Precision stored = network.run.trainer.precision;
  const bool narrow = size_of(storage(stored)) == 2;
  if (type != "16bit" && type != "wide" && type != measured)
    throw InputError(
        fmt::format("--weight-gradients {} is unknown. Use 16bit, wide or auto.", type));
  if (type == "16bit" && !narrow)
    throw InputError(fmt::format(
        "--weight-gradients 16bit: {} has no 16-bit tensors. Leave it out.", name(stored)));
  const bool filters = network.run.trainer.network.filters;
  if (type == "16bit" && !filters)
    throw InputError(
        "--weight-gradients 16bit is for the filters of convolutions (this network has none). "
        "Leave it out.");
  if (type == measured)
    type = narrow && filters && !network.inference && settings.at("device") != "cpu" ? "16bit"
                                                                                     : "wide";
}

void complete_loss_scale(Settings& settings, NetworkSettings& network) {
  std::string& scale = settings["loss_scale"];
  TrainerSettings& trainer = network.run.trainer;
  if (scale == measured)
    scale = !network.inference && trainer.precision == Precision::fp16 ? "dynamic" : "none";
  trainer.loss_scale = parse_loss_scale("--loss-scale", scale);
  scale = to_text(trainer.loss_scale);
}

/// InputError for factors that the optimizer does not have.
void complete_optimizer(Settings& settings, Learning& learning) {
  const Learning usual;
  settings["weight_decay"] = fmt::format("{}", learning.weight_decay);
  learning.rule = parse_name<UpdateRule>(settings.at("optimizer"));
  const UpdateLoop loop = find_loop(learning.rule);
  if (loop == UpdateLoop::rmsprop) learning.momentum = 0;  // PyTorch's default
  if (loop != UpdateLoop::moments) {
    learning.beta1 = usual.beta1;
    learning.beta2 = usual.beta2;
  }
  if (loop != UpdateLoop::rmsprop) learning.alpha = usual.alpha;
  if (loop == UpdateLoop::momentum) learning.epsilon = usual.epsilon;
  for (const auto& [name, value] :
       {std::pair{"beta1", learning.beta1}, std::pair{"beta2", learning.beta2},
        std::pair{"alpha", learning.alpha}, std::pair{"epsilon", learning.epsilon}}) {
    if (std::stod(settings.at(name)) != value)
      throw InputError(fmt::format("--{} {}: --optimizer {} has none. Leave it out.", name,
                                   settings.at(name), settings.at("optimizer")));
    settings[name] = fmt::format("{}", value);
  }
}

/// Candidates for each operation, in the order of preference.
std::vector<std::string> choose_backends(const std::string& backend, const std::string& device) {
  std::vector<std::string> all = dimension::list_backends("networks on " + device);
  if (device != "cpu") return backend == measured ? all : std::vector{backend};
  if (std::ranges::count(dimension::list_backends("reference"), backend) > 0) return {backend};
  if (backend != measured) {  // the requested one, one other, and the fallbacks
    std::erase(all, backend);
    if (all.size() > 1) all.resize(1);
    all.insert(all.begin(), backend);
  }
  for (std::string& fallback : dimension::list_backends("fallback"))
    if (fallback != backend) all.push_back(std::move(fallback));
  return all;
}

/// Reads completed settings, which no longer change.
void read_trainer(const SettingsReader& reader, TrainerSettings& trainer) {
  trainer.lag = reader.is("lag", "1") ? 1 : 0;
  trainer.control = read_control(reader.text("control"));
  trainer.learning.narrow_gradients = reader.is("weight_gradients", "16bit");
  trainer.executor.wide_products = !reader.is("emulate", "none");
  trainer.executor.backends = choose_backends(reader.text("backend"), reader.text("device"));
  trainer.executor.measured = reader.is("backend", measured);
  trainer.executor.device = reader.text("device");
}

void read_run(const SettingsReader& reader, const std::vector<Dimension>& dimensions,
              std::int64_t images, TrainingRun& run) {
  read_trainer(reader, run.trainer);
  run.cold = reader.is("page_cache", "cold");
  run.keep_unreached = reader.is("unreached", "kept");
  run.self_check = reader.is("self_check", "yes");
  if (!reader.is("validation", "none")) run.data.validation = reader.text("validation");
  run.data.augment = augment_names.at(reader.text("augment"));
  run.data.threads = run.trainer.executor.threads;
  ConvergenceSettings& convergence = run.convergence;
  if (reader.is("scaling", "linear")) convergence.rate = scale_rate(convergence.rate, images);
  if (!reader.is("checkpoint", "none")) convergence.checkpoint = reader.text("checkpoint");
  convergence.restart = reader.is("restart", "yes");
  // The row of a continued training vouches for all its steps and contains their time, so all of
  // them must have the same settings.
  std::vector<std::string> same = network_options::step_parameters(dimensions);
  same.insert(same.end(), {"augment", "label_base"});
  for (const std::string& name : same) convergence.same_settings[name] = reader.text(name);
}

/// The same for all spellings of a path.
std::filesystem::path plain_path(const std::filesystem::path& file) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(file),
                              plain = std::filesystem::weakly_canonical(whole, unknown);
  return unknown ? whole.lexically_normal() : plain;
}

}  // namespace

NetworkSettings read_network(Settings& settings, const RankCount& started,
                             const std::vector<Dimension>& dimensions, Network network) {
  SettingsReader reader(settings);
  NetworkSettings read;
  TrainerSettings& trainer = read.run.trainer;
  ConvergenceSettings& convergence = read.run.convergence;
  read.inference = reader.is("direction", network_options::inference);
  read.run.data.classes = network.classes;
  read.run.data.input = network.input;
  read.run.data.labels = network.labels;
  trainer.network = std::move(network);
  read_numbers(reader, read);
  if (trainer.learning.smoothing > 0 && trainer.network.labels != Labels::per_sample)
    throw InputError(fmt::format(
        "--smoothing {} is for networks with one label a sample, and {} is none. Leave it out.",
        settings.at("smoothing"), trainer.network.family));
  settings["schedule"] = to_text(convergence.decay);
  read.run.parallel = parse_parallel(reader.text("parallel"));
  settings["parallel"] = to_text(read.run.parallel);
  read.images = trainer.batch * replicas(read.run.parallel, started.ranks) * trainer.accumulate;
  complete_data(settings, reader, read.run.data, convergence.epochs);
  if (convergence.epochs == 0) complete_without_epochs(settings, dimensions, reader, convergence);
  const bool emulates = !reader.is("emulate", "none");
  if (emulates && !reader.is("precision", "fp32"))
    throw InputError(fmt::format("--emulate {} computes in fp32, not in {}. Leave --precision out.",
                                 settings.at("emulate"), settings.at("precision")));
  trainer.precision = precision(reader.text(emulates ? "emulate" : "precision"));
  complete_optimizer(settings, trainer.learning);
  complete_loss_scale(settings, read);
  complete_weight_gradients(settings, read);
  if (started.ranks == 1 || read.inference) {  // no gradients are added
    settings["allreduce_transport"] = launched_transport;
    settings["allreduce"] = "library";
    settings["wire"] = "none";
    settings["control"] = "none";
  }
  settings["ranks"] = std::to_string(started.ranks);
  settings["nodes"] = std::to_string(started.nodes);
  read_run(reader, dimensions, read.images, read.run);
  return read;
}

void expect_one_training_each(const std::vector<Case>& cases) {
  std::map<std::filesystem::path, int> trainings;  // number of trainings by checkpoint file
  for (const Case& each : cases)
    if (const auto& network = typed_settings<NetworkSettings>(each);
        !network.inference && network.run.convergence.epochs > 0 &&
        !network.run.convergence.checkpoint.empty())
      ++trainings[plain_path(network.run.convergence.checkpoint)];
  for (const auto& [file, count] : trainings)
    if (count > 1)
      throw InputError(fmt::format(
          "--checkpoint {}: {} cases train, and a checkpoint has one training. Give one case, or "
          "run each by a separate command, with its own file.",
          file.string(), count));
}

}  // namespace assay
