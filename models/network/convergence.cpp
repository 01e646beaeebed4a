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
#include "models/network/claimed_rate.hpp"
#include "models/network/stop_request.hpp"
#include "models/network/training_checkpoint.hpp"
#include "models/network/training_oracle.hpp"
#include "models/network/work_count.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t nodes_of_check = 6;
/// An update that does not happen is found after so many steps.
constexpr std::int64_t steps_between_oracles = 8;

/// Steps of an epoch, each of so many batches; batches that are left over are not used.
std::int64_t steps_of(const Batches& training, std::int64_t passes) {
  if (training.steps() < passes)
    throw InputError(
        fmt::format("--accumulate {}: an epoch has {} batches ({}). Use fewer, or smaller ones.",
                    passes, training.steps(), training.canonical()));
  return training.steps() / passes;
}

Schedule schedule_of(const Batches& training, std::int64_t passes,
                     const ConvergenceSettings& settings) {
  const std::int64_t steps = steps_of(training, passes);
  return Schedule({settings.rate, settings.warmup_epochs * steps, settings.epochs * steps, steps,
                   settings.decay});
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
        oracle_(settings.oracle),
        passes_(trainer.settings().accumulate),
        steps_(steps_of(training, passes_)),
        schedule_(schedule_of(training, passes_, settings)),
        checkpoint_(trainer, training, ranks, settings) {
    made_.found.passed = true;
  }

  Convergence run() {
    if (!settings_.restart) checkpoint_.expect_usable();
    trainer_.initialise();
    PipelineState from;
    if (settings_.restart) from = restored();
    // Gradients of steps before this training wait no more.
    if (settings_.step_oracle != nullptr) settings_.step_oracle->forget();
    if (oracle_ != nullptr) oracle_->begin(trainer_, epoch_, step_, settings_.restart);
    start_ = Clock::now();
    start_unix_s_ =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    training_.start(from);
    if (!settings_.checkpoint.empty()) stop_.emplace();
    while (epoch_ < settings_.epochs && !made_.reached) {
      one_epoch();
      if (settings_.after_epoch) judge_epoch();
      if (!settings_.checkpoint.empty()) write();
      stop_if_asked();
    }
    if (made_.epochs.empty()) {  // nothing was left to learn
      EpochResult none;
      none.epoch = epoch_;
      none.started_unix_s = none.trained_unix_s = unix_now();
      validate(none, trainer_.settings().seed + static_cast<std::uint64_t>(epoch_));
    }
    if (oracle_ != nullptr) {
      oracle_->end(made_, settings_.restart);
      add(oracle_->found(), "in the training");
    }
    return std::move(made_);
  }

 private:
  double elapsed() const { return seconds_since(start_) - not_counted_; }
  double unix_now() const { return start_unix_s_ + seconds_since(start_); }

  void one_epoch() {
    const std::int64_t first = step_, made_before = made_.steps;
    (void)work_.take(trainer_.executor(), ranks_);
    rehearsed_ = 0;
    accuracy_.reset();
    if (oracle_ != nullptr) oracle_->begin_epoch(epoch_, step_);
    std::mt19937_64 random(trainer_.settings().seed + static_cast<std::uint64_t>(epoch_) + 1);
    auto checked = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps_));
    const std::int64_t counted_later = untimed_;
    std::int64_t timed = 0;  // steps without checks
    const double begun = elapsed();
    EpochResult result;
    result.started_unix_s = unix_now();
    while (step_ < steps_) {
      const bool check = step_ == checked, slowed = check || is_judged();
      if (slowed && timed == 0 && step_ + 1 == steps_) {
        rehearse();
        ++timed;
      }
      losses_ += one_step(check, random());
      ++(slowed ? untimed_ : timed);
      // A step that was skipped says nothing: the next one is checked.
      if (check && overflowed_) ++checked;
      ++step_;
      stop_if_diverged();
      if (step_ < steps_) stop_if_asked();
    }
    const std::int64_t made = steps_ - first;
    expect_work(made_.steps - made_before + rehearsed_);
    if (training_.steps() % passes_ != 0) {
      PipelineState next = training_.state();
      next.epoch = static_cast<std::uint64_t>(epoch_) + 1;
      next.step = 0;
      training_.start(next);
    }
    // Checked and judged steps count as long as the others took in the mean.
    const double step_seconds = (elapsed() - begun) / static_cast<double>(timed);
    not_counted_ -= step_seconds * static_cast<double>(made + counted_later - timed);
    untimed_ = 0;
    double losses = losses_;
    result.trained_unix_s = unix_now();
    losses_ = 0;
    step_ = 0;
    result.epoch = ++epoch_;
    RankCalls(ranks_).sum(std::span(&losses, 1));
    result.training_loss = losses / static_cast<double>(steps_ * ranks_.size());
    result.images_per_s =
        static_cast<double>(passes_ * trainer_.settings().batch * ranks_.size()) / step_seconds;
    judge(result);
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

  void judge(const EpochResult& trained) {
    if (oracle_ == nullptr) return;
    const double before = elapsed();
    oracle_->end_epoch(trainer_, trained);
    not_counted_ += elapsed() - before;
  }

  void judge_epoch() {
    const double before = elapsed();
    training_.pause();
    settings_.after_epoch();
    not_counted_ += elapsed() - before;
  }

  /// The next step without checks, for its time alone: it is then made again from the same state.
  /// So the only step of an epoch can be checked.
  void rehearse() {
    double before = elapsed();
    Trainer::State state;
    trainer_.save(state);
    const PipelineState data = training_.state();
    not_counted_ += elapsed() - before;
    if (oracle_ != nullptr) oracle_->rehearse(true);
    rehearses_ = true;
    one_step(false, 0);
    rehearses_ = false;
    if (oracle_ != nullptr) oracle_->rehearse(false);
    before = elapsed();
    trainer_.exchange(state);
    training_.start(data);
    --made_.steps;
    ++rehearsed_;
    if (settings_.step_oracle != nullptr) settings_.step_oracle->forget();
    not_counted_ += elapsed() - before;
  }

  /// The nodes of the network have counted the images that they ran on, and the updates. With a lag
  /// the first step of a training has no gradients to apply.
  void expect_work(std::int64_t steps) {
    const NetworkWork work = work_.take(trainer_.executor(), ranks_);
    if (settings_.claims.empty()) return;
    const StepClaims claims(settings_.claims);
    const auto images = static_cast<double>(steps * claims.passes * claims.batch * claims.ranks),
               updates = static_cast<double>(steps * claims.ranks),
               without = claims.lags && epoch_ == 0
                             ? static_cast<double>((1 + rehearsed_) * claims.ranks)
                             : 0;
    if (work.images != images || work.updates > updates || work.updates < updates - without)
      throw WrongResult(fmt::format(
          "{} steps of epoch {} have trained on {:.0f} images with {:.0f} updates, not on {:.0f} "
          "with {:.0f}",
          steps, epoch_ + 1, work.images, work.updates, images, updates));
  }

  void validate(EpochResult result, std::uint64_t seed) {
    const double before = elapsed();
    StepCheck check = random_check(evaluator_.executor().graph(), nodes_of_check, seed);
    const Evaluation found = evaluator_.evaluate(
        validation_, &check, oracle_ == nullptr ? nullptr : &oracle_->evaluation());
    add(check.found, fmt::format("in the validation after epoch {}", result.epoch));
    not_counted_ += found.check_seconds;
    // The same validation was counted before the checkpoint was written.
    if (accuracy_) not_counted_ += elapsed() - before;
    accuracy_ = found.accuracy;
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
    std::string text = result.trained()
                           ? fmt::format("epoch {}: loss {:.4f}, {:.1f} images/s", result.epoch,
                                         result.training_loss, result.images_per_s)
                           : fmt::format("epoch {}: nothing was left to train", result.epoch);
    if (const auto& found = result.evaluation)
      text +=
          fmt::format("; validation: loss {:.4f}, accuracy {:.4f}", found->loss, found->accuracy);
    settings_.progress(text);
  }

  /// With a lag two steps in a row: the second applies the gradients of the first.
  bool is_judged() const {
    return settings_.step_oracle != nullptr && !rehearses_ &&
           step_ % steps_between_oracles >= steps_between_oracles - 1 - trainer_.settings().lag;
  }

  /// Makes a step that the step oracle (if the case has one) judges, also if the loss scale skips
  /// it.
  void judged_step(double rate, StepCheck* check, const std::function<void()>& load_next,
                   bool judged, std::uint64_t seed) {
    StepOracle* const oracle = judged ? settings_.step_oracle : nullptr;
    if (settings_.step_oracle != nullptr && !judged) settings_.step_oracle->forget();
    {
      const ObservedStep observed(oracle, trainer_, seed);
      trainer_.step(rate, check, load_next);
    }
    if (oracle == nullptr) return;
    oracle->expect_rate(ClaimedRate(settings_.claims, steps_).at(epoch_ * steps_ + step_));
    Verification found;
    found.passed = true;
    oracle->end(trainer_, found);
    add(found, fmt::format("in epoch {}", epoch_ + 1));
  }

  /// The step's loss on this rank.
  double one_step(bool checked, std::uint64_t seed) {
    const double before = elapsed();
    if (oracle_ != nullptr) oracle_->begin_step();
    const auto load_next = [this, checked] {
      const auto start = Clock::now();
      const Batch& batch = next_of(training_, ranks_);
      trainer_.load(batch.images, batch.labels);
      made_.input_seconds += seconds_since(start);
      if (oracle_ != nullptr) oracle_->take(batch);
      if (!checked) return;
      training_.pause();  // checks do not count, so nothing is read meanwhile
      if (oracle_ != nullptr) oracle_->judge(batch, trainer_);
    };
    load_next();
    double rate = schedule_.rate(epoch_ * steps_ + step_);
    if (ranks_.size() > 1) rate = ranks_.broadcast(rate);
    ++made_.steps;
    if (!checked) {
      const bool judged = is_judged();
      judged_step(rate, nullptr, load_next, judged, seed);
      const double loss = trainer_.loss();
      if (oracle_ != nullptr) oracle_->end_step(trainer_, rate, loss, false, judged);
      if (judged) not_counted_ += elapsed() - before;
      return loss;
    }
    StepCheck check = random_check(trainer_.graph(), nodes_of_check, seed);
    // With a lag, the first step of all has no update.
    const bool updates = trainer_.settings().lag == 0 || epoch_ + step_ > 0;
    judged_step(rate, &check, load_next, updates, seed);
    if (oracle_ != nullptr) oracle_->end_step(trainer_, rate, trainer_.loss(), true, true);
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

  void add_checkpoint() {
    Verification found;
    found.reason = checkpoint_.fault();
    found.passed = found.reason.empty();
    add(found, "in a checkpoint");
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

  /// Ranks end together: one that was asked to is enough. Whole epochs are in the checkpoint
  /// already.
  void stop_if_asked() {
    if (!stop_) return;
    double asked = stop_->asked() ? 1 : 0;
    ranks_.allreduce_max(std::span(&asked, 1));
    if (asked == 0) return;
    if (step_ > 0) write();
    const std::string when = step_ > 0 ? fmt::format("step {} of epoch {}", step_, epoch_ + 1)
                                       : fmt::format("epoch {}", epoch_);
    if (settings_.progress)
      settings_.progress(
          fmt::format("stopped by SIGTERM after {}, which {} has: continue with --restart yes",
                      when, settings_.checkpoint.string()));
    stop_.reset();
    std::raise(SIGTERM);
  }

  void write() {
    const double before = elapsed();
    training_.pause();
    const CheckpointCost cost = checkpoint_.write(
        {epoch_, step_, losses_, before, untimed_, training_.state().bad_samples, accuracy_});
    add_checkpoint();
    made_.checkpoint_seconds = cost.seconds;
    made_.checkpoint_bytes = cost.bytes;
    not_counted_ += elapsed() - before;
  }

  /// Where the training was when the checkpoint was written.
  PipelineState restored() {
    const TrainingProgress from = checkpoint_.read();
    add_checkpoint();
    epoch_ = from.epoch;
    step_ = from.step;
    losses_ = from.losses;
    untimed_ = from.untimed;
    accuracy_ = from.accuracy;
    made_.reached = accuracy_ && *accuracy_ >= settings_.target;
    not_counted_ = -from.seconds;
    return {static_cast<std::uint64_t>(epoch_), step_ * passes_, from.bad_samples};
  }

  Trainer& trainer_;
  Evaluator& evaluator_;
  Batches &training_, &validation_;
  Communicator& ranks_;
  const ConvergenceSettings& settings_;
  TrainingOracle* const oracle_;
  std::int64_t passes_;  ///< of a step
  std::int64_t steps_;   ///< of an epoch
  Schedule schedule_;
  TrainingCheckpoint checkpoint_;
  Convergence made_;
  std::optional<StopRequest> stop_;
  std::int64_t epoch_ = 0, step_ = 0;  ///< whole epochs, and steps of the next one, that were made
  std::optional<double> accuracy_;     ///< of a validation since the last step
  double losses_ = 0;                  ///< sum over these steps, on this rank
  Clock::time_point start_;
  double start_unix_s_ = 0;
  WorkCount work_;
  bool rehearses_ = false;
  std::int64_t rehearsed_ = 0;  ///< steps of the epoch that were made twice
  bool overflowed_ = false;     ///< the checked step, whose checks say nothing then
  double not_counted_ = 0;
  std::int64_t untimed_ = 0;  ///< checked steps of this epoch that are not yet counted as others
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

void expect_trainable(const Batches& training, std::int64_t accumulate,
                      const ConvergenceSettings& settings) {
  (void)schedule_of(training, accumulate, settings);
}

Convergence train(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
                  Communicator& ranks, const ConvergenceSettings& settings) {
  return Training(trainer, evaluator, training, validation, ranks, settings).run();
}

}  // namespace assay
