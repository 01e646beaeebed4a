#include "models/network/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "models/network/checkpoint.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t nodes_of_check = 6;

std::string architecture(const Trainer& trainer) {
  const TrainerSettings& of = trainer.settings();
  return fmt::format("resnet {} {} {}", to_descriptor(of.shape), name(of.precision),
                     name(of.learning.rule));
}

class Training {
 public:
  Training(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
           Communicator& ranks, const ConvergenceSettings& settings)
      : trainer_(trainer),
        evaluator_(evaluator),
        training_(training),
        validation_(validation),
        ranks_(ranks),
        settings_(settings),
        schedule_({settings.rate, settings.warmup_epochs * training.steps(),
                   settings.epochs * training.steps(), training.steps(), settings.decay}) {
    made_.found.passed = true;
  }

  Convergence run() {
    trainer_.initialise();
    if (settings_.restart) read_checkpoint();
    training_.start({static_cast<std::uint64_t>(epoch_), 0, {}});
    start_ = Clock::now();
    while (epoch_ < settings_.epochs && !made_.reached) {
      one_epoch();
      ++epoch_;
      if (!settings_.checkpoint.empty()) write();
    }
    return std::move(made_);
  }

 private:
  double elapsed() const { return seconds_since(start_) - not_counted_; }

  void one_epoch() {
    const std::int64_t steps = training_.steps();
    std::mt19937_64 random(trainer_.settings().seed + static_cast<std::uint64_t>(epoch_) + 1);
    auto checked = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps));
    const double begun = elapsed();
    double losses = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      losses += one_step(step == checked, random());
      // A step that was skipped says nothing: the next one is checked.
      if (step == checked && trainer_.lowered()) ++checked;
    }
    const double seconds = elapsed() - begun;
    EpochResult result;
    result.epoch = epoch_ + 1;
    RankCalls(ranks_).sum(std::span(&losses, 1));
    result.training_loss = losses / static_cast<double>(steps * ranks_.size());
    result.images_per_s =
        static_cast<double>(steps * trainer_.settings().batch * ranks_.size()) / seconds;
    if (!std::isfinite(result.training_loss))
      throw CaseError(fmt::format(
          "training diverged: the loss is {} in epoch {}. Use a smaller learning rate, or a longer "
          "warm-up.",
          result.training_loss, result.epoch));
    if (trainer_.loss_scale().diverged())
      throw CaseError(
          fmt::format("training diverged: gradients are not finite in epoch {}. Use a smaller "
                      "learning rate, or a longer warm-up.",
                      result.epoch));
    result.evaluation = evaluate(random());
    result.seconds = elapsed();
    made_.reached = result.evaluation.accuracy >= settings_.target;
    made_.epochs.push_back(result);
    if (settings_.progress)
      settings_.progress(fmt::format(
          "epoch {}: loss {:.4f}, {:.1f} images/s; validation: loss {:.4f}, accuracy {:.4f}",
          result.epoch, result.training_loss, result.images_per_s, result.evaluation.loss,
          result.evaluation.accuracy));
  }

  /// The step's loss on this rank.
  double one_step(bool checked, std::uint64_t seed) {
    const auto start = Clock::now();
    const Batch& batch = training_.next();
    trainer_.load(batch.images, batch.labels);
    made_.input_seconds += seconds_since(start);
    double rate = schedule_.rate(epoch_ * training_.steps() + batch.step);
    if (ranks_.size() > 1) rate = ranks_.broadcast(rate);
    ++made_.steps;
    if (!checked) {
      trainer_.step(rate);
      return trainer_.loss();
    }
    const double before = elapsed();
    StepCheck check = random_check(trainer_.graph(), nodes_of_check, seed);
    trainer_.step(rate, &check);
    if (!trainer_.lowered()) add(check.found, fmt::format("in epoch {}", epoch_ + 1));
    not_counted_ += elapsed() - before;
    return trainer_.loss();
  }

  Evaluation evaluate(std::uint64_t seed) {
    if (!made_.epochs.empty()) return evaluator_.evaluate(validation_);
    StepCheck check = random_check(evaluator_.executor().graph(), nodes_of_check, seed);
    const Evaluation found = evaluator_.evaluate(validation_, &check);
    add(check.found, "in validation");
    return found;
  }

  void add(const Verification& checked, const std::string& when) {
    made_.found.checked += checked.checked;
    made_.found.wrong_elements += checked.wrong_elements;
    if (checked.passed || !made_.found.passed) return;
    made_.found.passed = false;
    made_.found.reason = checked.reason + ", " + when;
  }

  void write() {
    Trainer::State state;
    trainer_.save(state);
    std::vector<CheckpointBlob> blobs;
    for (std::size_t i = 0; i < state.values.size(); ++i)
      blobs.push_back({fmt::format("value {}", i), state.values[i]});
    blobs.push_back({"running statistics", std::as_bytes(std::span(state.running))});
    const double before = elapsed();
    if (ranks_.rank() == 0) {
      const CheckpointCost cost =
          write_checkpoint(settings_.checkpoint, architecture(trainer_),
                           {{"epochs", epoch_},
                            {"seed", trainer_.settings().seed},
                            {"loss_scale",
                             {state.loss_scale.scale, state.loss_scale.good_steps,
                              state.loss_scale.steps, state.loss_scale.skipped}}},
                           blobs);
      made_.checkpoint_seconds = cost.seconds;
      made_.checkpoint_bytes = cost.bytes;
    }
    ranks_.barrier();
    not_counted_ += elapsed() - before;
  }

  void read_checkpoint() {
    const Checkpoint from(settings_.checkpoint, architecture(trainer_));
    Trainer::State state;
    trainer_.save(state);  // for the sizes
    for (std::size_t i = 0; i < state.values.size(); ++i)
      from.copy(fmt::format("value {}", i), state.values[i]);
    from.copy("running statistics", std::as_writable_bytes(std::span(state.running)));
    try {
      epoch_ = from.state().at("epochs").get<std::int64_t>();
      const nlohmann::json& scale = from.state().at("loss_scale");
      state.loss_scale = {scale.at(0).get<double>(), scale.at(1).get<std::int64_t>(),
                          scale.at(2).get<std::int64_t>(), scale.at(3).get<std::int64_t>()};
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("{}: its state cannot be used ({})",
                                   settings_.checkpoint.string(), error.what()));
    }
    trainer_.exchange(state);
  }

  Trainer& trainer_;
  Evaluator& evaluator_;
  Batches &training_, &validation_;
  Communicator& ranks_;
  const ConvergenceSettings& settings_;
  Schedule schedule_;
  Convergence made_;
  std::int64_t epoch_ = 0;
  Clock::time_point start_;
  double not_counted_ = 0;
};

}  // namespace

StepCheck random_check(const Graph& graph, std::size_t nodes, std::uint64_t seed) {
  StepCheck check;
  check.found.passed = true;
  check.gradient_sum = graph.gradients != Graph::none;
  check.seed = seed;
  std::mt19937_64 random(seed);
  const std::size_t last = graph.nodes.size() - 1;
  while (check.nodes.size() < std::min(nodes, last)) check.nodes.insert(random() % last);
  check.nodes.insert(last);  // the update
  return check;
}

Convergence train(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
                  Communicator& ranks, const ConvergenceSettings& settings) {
  return Training(trainer, evaluator, training, validation, ranks, settings).run();
}

}  // namespace assay
