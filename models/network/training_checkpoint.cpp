#include "models/network/training_checkpoint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/measure/agreement.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/result/schema.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using nlohmann::json;

std::string architecture(const Trainer& trainer) {
  const TrainerSettings& settings = trainer.settings();
  return fmt::format("{} {} {} {}", settings.network.family, settings.network.descriptor,
                     name(settings.precision), name(settings.learning.rule));
}

/// The settings that decide what each step computes, by option name.
json decisive(const Trainer& trainer, const Batches& training, const Communicator& ranks,
              const ConvergenceSettings& settings) {
  const TrainerSettings& own = trainer.settings();
  json all = {{"seed", own.seed},
              {"ranks", ranks.size()},
              {"batch", own.batch},
              {"accumulate", own.accumulate},
              {"lag", own.lag},
              {"emulate", own.executor.wide_products ? std::string(name(own.precision)) : "none"},
              {"loss_scale", to_text(own.loss_scale)},
              {"momentum", own.learning.momentum},
              {"weight_decay", own.learning.weight_decay},
              {"trust_coefficient", own.learning.coefficient},
              {"beta1", own.learning.beta1},
              {"beta2", own.learning.beta2},
              {"alpha", own.learning.alpha},
              {"epsilon", own.learning.epsilon},
              {"smoothing", own.learning.smoothing},
              {"data", training.canonical()},
              {"rate", settings.rate},
              {"warmup", settings.warmup_epochs},
              {"schedule", to_text(settings.decay)}};
  // Other schedules do not depend on the number of epochs.
  if (settings.decay.kind == Decay::Kind::cosine || settings.decay.kind == Decay::Kind::polynomial)
    all["epochs"] = settings.epochs;
  for (const auto& [name, value] : settings.same_settings) all[name] = value;
  return all;
}

std::string quote_value(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// TrainingProgress and the further state of a checkpoint.
struct StoredProgress {
  TrainingProgress progress;
  LossScaleState loss_scale;
  double waiting_scale = 0;
};

StoredProgress read_progress(const json& state, const Communicator& ranks) {
  StoredProgress stored;
  TrainingProgress& progress = stored.progress;
  progress.epoch = state.at("epochs").get<std::int64_t>();
  progress.step = state.at("step").get<std::int64_t>();
  progress.losses = state.at("losses").get<double>();
  progress.seconds = state.at("seconds").get<double>();
  progress.untimed = state.at("untimed").get<std::int64_t>();
  progress.bad_samples = state.at("bad_samples")
                             .at(static_cast<std::size_t>(ranks.rank()))
                             .get<std::vector<std::int64_t>>();
  if (const json& score = state.at("accuracy"); !score.is_null())
    progress.score = score.get<double>();
  const json& scale = state.at("loss_scale");
  stored.loss_scale = {scale.at(0).get<double>(), scale.at(1).get<std::int64_t>(),
                       scale.at(2).get<std::int64_t>(), scale.at(3).get<std::int64_t>(),
                       scale.at(4).get<std::int64_t>()};
  stored.waiting_scale = state.at("waiting_scale").get<double>();
  return stored;
}

}  // namespace

TrainingCheckpoint::TrainingCheckpoint(Trainer& trainer, const Batches& training,
                                       Communicator& ranks, const ConvergenceSettings& settings)
    : trainer_(trainer),
      ranks_(ranks),
      settings_(settings),
      steps_(training.steps() / trainer.settings().accumulate),
      architecture_(architecture(trainer)),
      decisive_(decisive(trainer, training, ranks, settings)) {}

Checkpoint TrainingCheckpoint::open() const {
  Checkpoint checkpoint(settings_.checkpoint, architecture_);
  const std::string file = settings_.checkpoint.string();
  try {
    const json& its = checkpoint.state().at("settings");
    for (const auto& [name, value] : decisive_.items())
      if (its.contains(name) && its.at(name) != value)
        throw InputError(fmt::format("{}: its {} is {}, here {}. Continue with the same.", file,
                                     name, quote_value(its.at(name)), quote_value(value)));
    if (its != decisive_)
      throw InputError(fmt::format("{}: its settings are {}, here {}. Continue with the same.",
                                   file, its.dump(), decisive_.dump()));
    const TrainingProgress stored = read_progress(checkpoint.state(), ranks_).progress;
    if (stored.epoch < 0 || stored.step < 0 || stored.step >= steps_)
      throw InputError(fmt::format(
          "{}: it was made after step {} of epoch {}, but epochs have {} steps. Start anew.", file,
          stored.step, stored.epoch + 1, steps_));
    if (stored.epoch + (stored.step > 0 ? 1 : 0) > settings_.epochs)
      throw InputError(fmt::format(
          "{}: it was made after {}, beyond --epochs {}. Give more.", file,
          stored.step > 0 ? fmt::format("step {} of epoch {}", stored.step, stored.epoch + 1)
                          : fmt::format("epoch {}", stored.epoch),
          settings_.epochs));
  } catch (const json::exception& error) {
    throw InputError(fmt::format("{}: its state cannot be used ({})", file, error.what()));
  }
  return checkpoint;
}

void TrainingCheckpoint::expect_new() const {
  // Writing to a device or a pipe loses nothing.
  std::error_code missing;
  if (!std::filesystem::is_regular_file(settings_.checkpoint, missing)) return;
  try {
    open();
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}: it is there already and would be overwritten, but is not a checkpoint of "
                    "this training ({}). Name another file, or continue with --restart yes and "
                    "the options of its run.",
                    settings_.checkpoint.string(), error.what()));
  }
}

void TrainingCheckpoint::expect_usable() const {
  if (settings_.checkpoint.empty()) return;
  if (settings_.restart) open_on_all();
  throw_on_all(ranks_, [&] {
    if (ranks_.rank() != 0) return;
    if (!settings_.restart) expect_new();
    expect_no_other_partial(settings_.checkpoint);
    check_writable(settings_.checkpoint);
  });
}

CheckpointCost TrainingCheckpoint::write(const TrainingProgress& progress) const {
  Trainer::State state;
  trainer_.save(state);
  // Stores one mean of the ranks' averages: validation uses only this mean, and equal averages on
  // all ranks have the same mean.
  RankCalls(ranks_).sum(state.running);
  for (double& value : state.running) value /= ranks_.size();
  double losses = progress.losses;
  RankCalls(ranks_).sum(std::span(&losses, 1));
  const json bad_samples = allgather_json(progress.bad_samples, ranks_);
  Fingerprints own;
  throw_on_all(ranks_, [&] {
    if (ranks_.rank() == 0) own = take_fingerprints(trainer_);
  });
  add_fingerprints(state.running, state.loss_scale, own);
  std::vector<CheckpointBlob> blobs;
  for (std::size_t i = 0; i < state.values.size(); ++i)
    blobs.push_back({fmt::format("value {}", i), state.values[i]});
  blobs.push_back({"running statistics", std::as_bytes(std::span(state.running))});
  const json kept = {{"settings", decisive_},
                     {"fingerprints", own},
                     {"epochs", progress.epoch},
                     {"step", progress.step},
                     {"losses", losses / ranks_.size()},
                     {"seconds", progress.seconds},
                     {"untimed", progress.untimed},
                     {"bad_samples", bad_samples},
                     {"accuracy", progress.score ? json(*progress.score) : json()},
                     {"waiting_scale", state.waiting_scale},
                     {"loss_scale",
                      {state.loss_scale.scale, state.loss_scale.good_steps, state.loss_scale.steps,
                       state.loss_scale.skipped, state.loss_scale.skipped_in_row}}};
  CheckpointCost cost;
  std::string fault;  // of rank 0; the other ranks would otherwise wait for it
  try {
    if (ranks_.rank() == 0) {
      cost = write_checkpoint(settings_.checkpoint, architecture_, kept, blobs);
      std::error_code missing;  // a device or a pipe cannot be read back
      if (std::filesystem::is_regular_file(settings_.checkpoint, missing)) compare(open(), own);
    }
  } catch (const std::exception& error) {
    fault = error.what();
  }
  fault = ranks_.allgather(fault).front();
  if (!fault.empty()) throw CaseError(fault);
  return cost;
}

void TrainingCheckpoint::compare(const Checkpoint& file, const Fingerprints& own) const {
  std::vector<std::string> names = {"velocity", "weights"};
  if (trainer_.graph().stored != Graph::none) names.emplace_back("rounded weights");
  if (trainer_.graph().lags()) names.emplace_back("waiting gradients");
  if (trainer_.graph().second != Graph::none) names.emplace_back("second moments");
  Fingerprints fingerprints;
  for (std::size_t i = 0; i < names.size(); ++i)
    fingerprints[names[i]] = format_fingerprint(file.bytes(fmt::format("value {}", i)));
  const std::span<const std::byte> running = file.bytes("running statistics");
  std::vector<double> averages(running.size() / sizeof(double));
  std::memcpy(averages.data(), running.data(), running.size());
  add_fingerprints(averages, read_progress(file.state(), ranks_).loss_scale, fingerprints);
  const std::string name = settings_.checkpoint.string();
  fault_ = difference(own, fingerprints);
  if (!fault_.empty()) fault_ = fmt::format("on the device {}, as {} has them", fault_, name);
  if (!fault_.empty()) return;
  fault_ = difference(file.state().value("fingerprints", Fingerprints{}), fingerprints);
  if (!fault_.empty()) fault_ = fmt::format("by the fingerprints in {} {}", name, fault_);
}

Checkpoint TrainingCheckpoint::open_on_all() const {
  std::optional<Checkpoint> checkpoint;
  throw_on_all(ranks_, [&] { checkpoint.emplace(open()); });
  const std::vector<double> checks = allgather_numbers(checkpoint->check(), ranks_);
  for (std::size_t rank = 1; rank < checks.size(); ++rank)
    if (checks[rank] != checks.front())
      throw InputError(
          fmt::format("{}: rank {} reads another checkpoint than rank 0. Name a file that all "
                      "ranks share, or copy rank 0's to all nodes.",
                      settings_.checkpoint.string(), rank));
  return std::move(*checkpoint);
}

TrainingProgress TrainingCheckpoint::read() const {
  const Checkpoint checkpoint = open_on_all();
  const StoredProgress stored = read_progress(checkpoint.state(), ranks_);
  Trainer::State state;
  trainer_.save(state);  // for the sizes
  for (std::size_t i = 0; i < state.values.size(); ++i)
    checkpoint.copy(fmt::format("value {}", i), state.values[i]);
  checkpoint.copy("running statistics", std::as_writable_bytes(std::span(state.running)));
  state.waiting_scale = stored.waiting_scale;
  state.loss_scale = stored.loss_scale;
  trainer_.swap_state(state);
  compare(checkpoint, take_fingerprints(trainer_));
  return stored.progress;
}

}  // namespace assay
