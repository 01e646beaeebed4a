#include "models/network/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>
#include <random>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "models/network/checkpoint.hpp"
#include "models/network/stop_request.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t nodes_of_check = 6;

/// Steps of an epoch, each of so many batches; batches that are left over are not used.
std::int64_t steps_of(const Batches& training, std::int64_t passes) {
  if (training.steps() < passes)
    throw InputError(
        fmt::format("--accumulate {}: an epoch has {} batches ({}). Use fewer, or smaller ones.",
                    passes, training.steps(), training.canonical()));
  return training.steps() / passes;
}

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
        passes_(trainer.settings().accumulate),
        steps_(steps_of(training, passes_)),
        schedule_({settings.rate, settings.warmup_epochs * steps_, settings.epochs * steps_, steps_,
                   settings.decay}) {
    made_.found.passed = true;
  }

  Convergence run() {
    trainer_.initialise();
    start_ = Clock::now();
    start_unix_s_ =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    PipelineState from;
    if (settings_.restart) from = read_checkpoint();
    training_.start(from);
    if (!settings_.checkpoint.empty()) stop_.emplace();
    while (epoch_ < settings_.epochs && !made_.reached) {
      one_epoch();
      if (!settings_.checkpoint.empty()) write();
    }
    if (made_.epochs.empty()) {  // nothing was left to learn
      EpochResult none;
      none.epoch = epoch_;
      none.started_unix_s = none.trained_unix_s = unix_now();
      validate(none, trainer_.settings().seed + static_cast<std::uint64_t>(epoch_));
    }
    return std::move(made_);
  }

 private:
  double elapsed() const { return seconds_since(start_) - not_counted_; }
  double unix_now() const { return start_unix_s_ + seconds_since(start_); }

  void one_epoch() {
    const std::int64_t first = step_;
    std::mt19937_64 random(trainer_.settings().seed + static_cast<std::uint64_t>(epoch_) + 1);
    auto checked = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps_));
    std::int64_t plain_steps = 0;
    const double begun = elapsed();
    EpochResult result;
    result.started_unix_s = unix_now();
    while (step_ < steps_) {
      const bool check = step_ == checked;
      losses_ += one_step(check, random());
      plain_steps += check ? 0 : 1;
      // A step that was skipped says nothing: the next one is checked.
      if (check && overflowed_) ++checked;
      ++step_;
      stop_if_diverged();
      if (step_ < steps_) stop_if_asked();
    }
    if (training_.steps() % passes_ != 0) {
      PipelineState next = training_.state();
      next.epoch = static_cast<std::uint64_t>(epoch_) + 1;
      next.step = 0;
      training_.start(next);
    }
    // A checked step counts as long as the others took in the mean.
    const std::int64_t made = steps_ - first;
    if (plain_steps > 0)
      not_counted_ -= (elapsed() - begun) * static_cast<double>(made - plain_steps) /
                      static_cast<double>(plain_steps);
    double losses = losses_;
    const double seconds = elapsed() - begun;
    result.trained_unix_s = unix_now();
    losses_ = 0;
    step_ = 0;
    result.epoch = ++epoch_;
    RankCalls(ranks_).sum(std::span(&losses, 1));
    result.training_loss = losses / static_cast<double>(steps_ * ranks_.size());
    result.images_per_s =
        static_cast<double>(made * passes_ * trainer_.settings().batch * ranks_.size()) / seconds;
    if (!std::isfinite(result.training_loss))
      throw Diverged(fmt::format(
          "training diverged: the loss is {} in epoch {}. Use a smaller learning rate, or a longer "
          "warm-up.",
          result.training_loss, result.epoch));
    if (result.epoch % settings_.validate_every == 0 || result.epoch == settings_.epochs)
      return validate(result, random());
    result.seconds = elapsed();
    result.ended_unix_s = result.trained_unix_s;
    tell(result);
  }

  void validate(EpochResult result, std::uint64_t seed) {
    StepCheck check = random_check(evaluator_.executor().graph(), nodes_of_check, seed);
    const Evaluation found = evaluator_.evaluate(validation_, &check);
    add(check.found, fmt::format("in the validation after epoch {}", result.epoch));
    not_counted_ += found.check_seconds;
    result.evaluation = found;
    result.seconds = elapsed();
    result.ended_unix_s = unix_now();
    if (!std::isfinite(found.loss) && !made_.found.passed) throw Diverged(made_.found.reason);
    if (!std::isfinite(found.loss))
      throw Diverged(
          fmt::format("training diverged: the loss of validation is {} after epoch {}. Use a "
                      "smaller learning rate, or a longer warm-up.",
                      found.loss, result.epoch));
    made_.reached = found.accuracy >= settings_.target;
    tell(result);
  }

  void tell(const EpochResult& result) {
    made_.epochs.push_back(result);
    if (!settings_.progress) return;
    std::string text = fmt::format("epoch {}: loss {:.4f}, {:.1f} images/s", result.epoch,
                                   result.training_loss, result.images_per_s);
    if (const auto& found = result.evaluation)
      text +=
          fmt::format("; validation: loss {:.4f}, accuracy {:.4f}", found->loss, found->accuracy);
    settings_.progress(text);
  }

  /// The step's loss on this rank.
  double one_step(bool checked, std::uint64_t seed) {
    const auto load_next = [this] {
      const auto start = Clock::now();
      const Batch& batch = next_of(training_, ranks_);
      trainer_.load(batch.images, batch.labels);
      made_.input_seconds += seconds_since(start);
    };
    load_next();
    double rate = schedule_.rate(epoch_ * steps_ + step_);
    if (ranks_.size() > 1) rate = ranks_.broadcast(rate);
    ++made_.steps;
    if (!checked) {
      trainer_.step(rate, nullptr, load_next);
      return trainer_.loss();
    }
    const double before = elapsed();
    StepCheck check = random_check(trainer_.graph(), nodes_of_check, seed);
    trainer_.step(rate, &check, load_next);
    overflowed_ = trainer_.overflowed();
    if (!overflowed_) add(check.found, fmt::format("in epoch {}", epoch_ + 1));
    not_counted_ += elapsed() - before;
    return trainer_.loss();
  }

  void add(const Verification& checked, const std::string& when) {
    made_.found.checked += checked.checked;
    made_.found.wrong_elements += checked.wrong_elements;
    if (checked.passed || !made_.found.passed) return;
    made_.found.passed = false;
    made_.found.reason = checked.reason + ", " + when;
  }

  /// All ranks alike, since they have judged the step alike.
  void stop_if_diverged() const {
    const LossScale& scale = trainer_.loss_scale();
    if (scale.diverged())
      throw Diverged(
          fmt::format("training diverged: gradients are not finite in step {} of epoch {}. Use a "
                      "smaller learning rate, or a longer warm-up.",
                      step_, epoch_ + 1));
    if (!scale.stuck()) return;
    throw Diverged(
        fmt::format("training diverged: {} steps in a row were skipped, up to step {} of epoch {}, "
                    "whose gradients are not finite at the loss scale {}. Use a smaller one, or "
                    "--loss-scale dynamic.",
                    scale.state().skipped_in_row, step_, epoch_ + 1, scale.scale()));
  }

  /// Ranks end together: one that was asked to is enough.
  void stop_if_asked() {
    if (!stop_) return;
    double asked = stop_->asked() ? 1 : 0;
    ranks_.allreduce_max(std::span(&asked, 1));
    if (asked == 0) return;
    write();
    if (settings_.progress)
      settings_.progress(fmt::format(
          "stopped by SIGTERM after step {} of epoch {}, which {} has: continue with --restart yes",
          step_, epoch_ + 1, settings_.checkpoint.string()));
    stop_.reset();
    std::raise(SIGTERM);
  }

  void write() {
    const double before = elapsed();
    Trainer::State state;
    trainer_.save(state);
    // Validation takes the mean of the ranks' averages, which those of their mean have, too.
    RankCalls(ranks_).sum(state.running);
    for (double& value : state.running) value /= ranks_.size();
    double losses = losses_;
    RankCalls(ranks_).sum(std::span(&losses, 1));
    std::vector<CheckpointBlob> blobs;
    for (std::size_t i = 0; i < state.values.size(); ++i)
      blobs.push_back({fmt::format("value {}", i), state.values[i]});
    blobs.push_back({"running statistics", std::as_bytes(std::span(state.running))});
    if (ranks_.rank() == 0) {
      const CheckpointCost cost = write_checkpoint(
          settings_.checkpoint, architecture(trainer_),
          {{"epochs", epoch_},
           {"step", step_},
           {"ranks", ranks_.size()},
           {"accumulate", passes_},
           {"lag", trainer_.settings().lag},
           {"waiting_scale", state.waiting_scale},
           {"losses", losses / ranks_.size()},
           {"seconds", before},
           {"bad_samples", training_.state().bad_samples},
           {"seed", trainer_.settings().seed},
           {"loss_scale",
            {state.loss_scale.scale, state.loss_scale.good_steps, state.loss_scale.steps,
             state.loss_scale.skipped, state.loss_scale.skipped_in_row}}},
          blobs);
      made_.checkpoint_seconds = cost.seconds;
      made_.checkpoint_bytes = cost.bytes;
    }
    ranks_.barrier();
    not_counted_ += elapsed() - before;
  }

  PipelineState read_checkpoint() {
    const Checkpoint from(settings_.checkpoint, architecture(trainer_));
    Trainer::State state;
    PipelineState data;
    try {
      const nlohmann::json& of = from.state();
      expect(of, "seed", static_cast<std::int64_t>(trainer_.settings().seed));
      expect(of, "ranks", ranks_.size());
      expect(of, "accumulate", passes_);
      expect(of, "lag", trainer_.settings().lag);
      trainer_.save(state);  // for the sizes
      state.waiting_scale = of.at("waiting_scale").get<double>();
      epoch_ = of.at("epochs").get<std::int64_t>();
      step_ = of.at("step").get<std::int64_t>();
      losses_ = of.at("losses").get<double>();
      not_counted_ = -of.at("seconds").get<double>();
      data = {static_cast<std::uint64_t>(epoch_), step_ * passes_,
              of.at("bad_samples").get<std::vector<std::int64_t>>()};
      const nlohmann::json& scale = of.at("loss_scale");
      state.loss_scale = {scale.at(0).get<double>(), scale.at(1).get<std::int64_t>(),
                          scale.at(2).get<std::int64_t>(), scale.at(3).get<std::int64_t>(),
                          scale.at(4).get<std::int64_t>()};
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("{}: its state cannot be used ({})",
                                   settings_.checkpoint.string(), error.what()));
    }
    for (std::size_t i = 0; i < state.values.size(); ++i)
      from.copy(fmt::format("value {}", i), state.values[i]);
    from.copy("running statistics", std::as_writable_bytes(std::span(state.running)));
    trainer_.exchange(state);
    return data;
  }

  void expect(const nlohmann::json& state, const char* name, std::int64_t value) const {
    if (const auto its = state.at(name).get<std::int64_t>(); its != value)
      throw InputError(fmt::format("{}: its {} is {}, here {}. Continue with the same.",
                                   settings_.checkpoint.string(), name, its, value));
  }

  Trainer& trainer_;
  Evaluator& evaluator_;
  Batches &training_, &validation_;
  Communicator& ranks_;
  const ConvergenceSettings& settings_;
  std::int64_t passes_;  ///< of a step
  std::int64_t steps_;   ///< of an epoch
  Schedule schedule_;
  Convergence made_;
  std::optional<StopRequest> stop_;
  std::int64_t epoch_ = 0, step_ = 0;  ///< whole epochs, and steps of the next one, that were made
  double losses_ = 0;                  ///< sum over these steps, on this rank
  Clock::time_point start_;
  double start_unix_s_ = 0;
  bool overflowed_ = false;  ///< the checked step, whose checks say nothing then
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
  for (std::size_t i = 0; i < last; ++i)
    if (graph.nodes[i].phase == Phase::accumulate) check.nodes.insert(i);
  return check;
}

Convergence train(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
                  Communicator& ranks, const ConvergenceSettings& settings) {
  return Training(trainer, evaluator, training, validation, ranks, settings).run();
}

}  // namespace assay
