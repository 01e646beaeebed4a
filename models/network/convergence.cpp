#include "models/network/convergence.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>
#include <random>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/claimed_rate.hpp"
#include "models/network/stop_request.hpp"
#include "models/network/training_checkpoint.hpp"
#include "models/network/training_clock.hpp"
#include "models/network/training_oracle.hpp"
#include "models/network/training_texts.hpp"
#include "models/network/work_count.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t nodes_of_check = 6;
/// An update that does not happen is found after this many steps.
constexpr std::int64_t steps_between_oracles = 8;

/// Steps of an epoch, each of this many batches; batches that are left over are not used.
std::int64_t count_steps(const Batches& training, std::int64_t passes) {
  if (training.steps() < passes)
    throw InputError(
        fmt::format("--accumulate {}: an epoch has {} batches ({}). Use fewer, or smaller ones.",
                    passes, training.steps(), training.canonical()));
  return training.steps() / passes;
}

RateSchedule make_schedule(const Batches& training, std::int64_t passes,
                           const ConvergenceSettings& settings) {
  const std::int64_t steps = count_steps(training, passes);
  return RateSchedule({settings.rate, settings.warmup_epochs * steps, settings.epochs * steps,
                       steps, settings.decay});
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
        steps_(count_steps(training, passes_)),
        schedule_(make_schedule(training, passes_, settings)),
        checkpoint_(trainer, training, ranks, settings) {
    result_.verification.passed = true;
  }

  Convergence run() {
    if (!settings_.restart) checkpoint_.expect_usable();
    trainer_.initialise();
    PipelineState state;
    if (settings_.restart) state = restored();
    // No gradients of earlier steps wait for their update.
    if (settings_.step_oracle != nullptr) settings_.step_oracle->forget();
    if (oracle_ != nullptr) oracle_->begin(trainer_, epoch_, step_, settings_.restart);
    clock_.start();
    training_.start(state);
    if (!settings_.checkpoint.empty()) stop_.emplace();
    while (epoch_ < settings_.epochs && !result_.reached) {
      one_epoch();
      if (settings_.after_epoch) judge_epoch();
      if (!settings_.checkpoint.empty()) write();
      stop_if_asked();
    }
    if (result_.epochs.empty()) {  // nothing was left to learn
      EpochResult none;
      none.epoch = epoch_;
      none.started_unix_s = none.trained_unix_s = clock_.unix_s();
      validate(none, trainer_.settings().seed + static_cast<std::uint64_t>(epoch_));
    }
    if (oracle_ != nullptr) {
      oracle_->end(result_, settings_.restart);
      add(oracle_->verification(), "in the training");
    }
    return std::move(result_);
  }

 private:
  void one_epoch() {
    const std::int64_t first = step_, made_before = result_.steps;
    (void)work_.take(trainer_.executor(), ranks_);
    rehearsed_ = 0;
    score_.reset();
    if (oracle_ != nullptr) oracle_->begin_epoch(epoch_, step_);
    std::mt19937_64 random(trainer_.settings().seed + static_cast<std::uint64_t>(epoch_) + 1);
    auto checked = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps_));
    const std::int64_t counted_later = untimed_;
    std::int64_t timed = 0;  // steps without checks
    const double begun = clock_.counted_seconds();
    EpochResult result;
    result.started_unix_s = clock_.unix_s();
    while (step_ < steps_) {
      const bool check = step_ == checked, slowed = check || is_judged();
      if (slowed && timed == 0 && step_ + 1 == steps_) {
        rehearse();
        ++timed;
      }
      losses_ += one_step(check, random());
      ++(slowed ? untimed_ : timed);
      // A skipped step proves nothing, so the next step is checked.
      if (check && overflowed_) ++checked;
      ++step_;
      stop_if_diverged();
      if (step_ < steps_) stop_if_asked();
    }
    expect_work(result_.steps - made_before + rehearsed_);
    if (training_.steps() % passes_ != 0) {
      PipelineState next = training_.state();
      next.epoch = static_cast<std::uint64_t>(epoch_) + 1;
      next.step = 0;
      training_.start(next);
    }
    // Each checked or judged step counts as the mean time of the other steps.
    const double step_seconds = (clock_.counted_seconds() - begun) / static_cast<double>(timed);
    clock_.leave_out(-step_seconds * static_cast<double>(steps_ - first + counted_later - timed));
    untimed_ = 0;
    result.trained_unix_s = clock_.unix_s();
    end_epoch(result, step_seconds, random());
  }

  /// Completes the result of the epoch, and validates it if a validation is due. `seed`: of the
  /// checks.
  void end_epoch(EpochResult result, double step_seconds, std::uint64_t seed) {
    double losses = losses_;
    losses_ = 0;
    step_ = 0;
    result.epoch = ++epoch_;
    RankCalls(ranks_).sum(std::span(&losses, 1));
    result.training_loss = losses / static_cast<double>(steps_ * ranks_.size());
    result.images_per_s =
        static_cast<double>(passes_ * trainer_.settings().batch * ranks_.size()) / step_seconds;
    judge(result);
    if (!std::isfinite(result.training_loss))
      throw Divergence(fmt::format(
          "training diverged: the loss is {} in epoch {}. Use a smaller learning rate, or a longer "
          "warm-up.",
          result.training_loss, result.epoch));
    if (result.epoch % settings_.validate_every == 0 || result.epoch == settings_.epochs)
      return validate(result, seed);
    result.seconds = clock_.counted_seconds();
    result.ended_unix_s = result.trained_unix_s;
    tell(result);
  }

  void judge(const EpochResult& trained) {
    if (oracle_ == nullptr) return;
    const ClockPause left_out(clock_);
    oracle_->end_epoch(trainer_, trained);
  }

  void judge_epoch() {
    const ClockPause left_out(clock_);
    training_.pause();
    settings_.after_epoch();
  }

  /// Makes the next step without checks, only to time it. The step is then made again from the same
  /// state. So an epoch has a time even if its only step is checked.
  void rehearse() {
    const double before = clock_.counted_seconds();
    Trainer::State state;
    trainer_.save(state);
    const PipelineState data = training_.state();
    clock_.leave_out(clock_.counted_seconds() - before);
    if (oracle_ != nullptr) oracle_->rehearse(true);
    rehearses_ = true;
    one_step(false, 0);
    rehearses_ = false;
    if (oracle_ != nullptr) oracle_->rehearse(false);
    const ClockPause left_out(clock_);
    trainer_.swap_state(state);
    training_.start(data);
    --result_.steps;
    ++rehearsed_;
    if (settings_.step_oracle != nullptr) settings_.step_oracle->forget();
  }

  /// Compares the images and updates that the network's nodes have counted with the claims. With a
  /// lag the first step of a training has no gradients to apply.
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
    const double before = clock_.counted_seconds();
    StepCheck check = random_check(evaluator_.executor().graph(), nodes_of_check, seed);
    const Evaluation evaluation = evaluator_.evaluate(
        validation_, &check, oracle_ == nullptr ? nullptr : &oracle_->evaluation());
    add(check.verification, fmt::format("in the validation after epoch {}", result.epoch));
    clock_.leave_out(evaluation.check_seconds);
    // The same validation was counted before the checkpoint was written.
    if (score_) clock_.leave_out(clock_.counted_seconds() - before);
    score_ = evaluation.score;
    result.evaluation = evaluation;
    result.seconds = clock_.counted_seconds();
    result.ended_unix_s = clock_.unix_s();
    if (!std::isfinite(evaluation.loss) && !result_.verification.passed)
      throw Divergence(result_.verification.reason);
    if (!std::isfinite(evaluation.loss))
      throw Divergence(
          fmt::format("training diverged: the loss of validation is {} after epoch {}. Use a "
                      "smaller learning rate, or a longer warm-up.",
                      evaluation.loss, result.epoch));
    result_.reached = evaluation.score >= settings_.target;
    tell(result);
  }

  void tell(const EpochResult& result) {
    result_.epochs.push_back(result);
    if (settings_.progress) settings_.progress(format_epoch(result));
  }

  /// With a lag, two consecutive steps are judged: the second applies the gradients of the first.
  bool is_judged() const {
    return settings_.step_oracle != nullptr && !rehearses_ &&
           step_ % steps_between_oracles >= steps_between_oracles - 1 - trainer_.settings().lag;
  }

  /// Makes a step that the step oracle (if the case has one) judges, even if the loss scale skips
  /// the step.
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
    Verification verification;
    verification.passed = true;
    oracle->end(trainer_, verification);
    add(verification, fmt::format("in epoch {}", epoch_ + 1));
  }

  /// The step's loss on this rank.
  double one_step(bool checked, std::uint64_t seed) {
    const double before = clock_.counted_seconds();
    if (oracle_ != nullptr) oracle_->begin_step();
    const auto load_next = [this, checked] {
      const auto start = Clock::now();
      const Batch& batch = take_next(training_, ranks_);
      trainer_.load(batch.images, batch.labels);
      result_.input_seconds += seconds_since(start);
      if (oracle_ != nullptr) oracle_->take(batch);
      if (!checked) return;
      training_.pause();  // checks are not timed, so no input may be read during them
      if (oracle_ != nullptr) oracle_->judge(batch, trainer_);
    };
    load_next();
    double rate = schedule_.rate(epoch_ * steps_ + step_);
    if (ranks_.size() > 1) rate = ranks_.broadcast(rate);
    ++result_.steps;
    if (!checked) {
      const bool judged = is_judged();
      judged_step(rate, nullptr, load_next, judged, seed);
      const double loss = trainer_.loss();
      if (oracle_ != nullptr) oracle_->end_step(trainer_, rate, loss, false, judged);
      if (judged) clock_.leave_out(clock_.counted_seconds() - before);
      return loss;
    }
    StepCheck check = random_check(trainer_.graph(), nodes_of_check, seed);
    // With a lag, the very first step has no update.
    const bool updates = trainer_.settings().lag == 0 || epoch_ + step_ > 0;
    judged_step(rate, &check, load_next, updates, seed);
    if (oracle_ != nullptr) oracle_->end_step(trainer_, rate, trainer_.loss(), true, true);
    overflowed_ = trainer_.has_overflowed();
    if (!overflowed_) add(check.verification, fmt::format("in epoch {}", epoch_ + 1));
    clock_.leave_out(clock_.counted_seconds() - before);
    return trainer_.loss();
  }

  void add(const Verification& checked, const std::string& when) {
    result_.verification.checked += checked.checked;
    result_.verification.wrong_elements += checked.wrong_elements;
    if (!checked.passed) result_.verification.fail(checked.reason + ", " + when);
  }

  void add_checkpoint() {
    if (const std::string fault = checkpoint_.fault(); !fault.empty())
      result_.verification.fail(fault + ", in a checkpoint");
  }

  /// All ranks stop together, since they have judged the step alike.
  void stop_if_diverged() const {
    if (const auto why = why_diverged(trainer_.loss_scale(),
                                      fmt::format("step {} of epoch {}", step_, epoch_ + 1)))
      throw Divergence(*why);
  }

  /// All ranks end together if one of them was asked to. The checkpoint already contains all
  /// complete epochs.
  void stop_if_asked() {
    if (!stop_) return;
    double stops = stop_->is_requested() ? 1 : 0;
    ranks_.allreduce_max(std::span(&stops, 1));
    if (stops == 0) return;
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
    const ClockPause left_out(clock_);
    training_.pause();
    const CheckpointCost cost =
        checkpoint_.write({epoch_, step_, losses_, left_out.since(), untimed_,
                           training_.state().bad_samples, score_});
    add_checkpoint();
    result_.checkpoint_seconds = cost.seconds;
    result_.checkpoint_bytes = cost.bytes;
  }

  /// The position of the training when the checkpoint was written.
  PipelineState restored() {
    const TrainingProgress progress = checkpoint_.read();
    add_checkpoint();
    epoch_ = progress.epoch;
    step_ = progress.step;
    losses_ = progress.losses;
    untimed_ = progress.untimed;
    score_ = progress.score;
    result_.reached = score_ && *score_ >= settings_.target;
    clock_.leave_out(-progress.seconds);
    return {static_cast<std::uint64_t>(epoch_), step_ * passes_, progress.bad_samples};
  }

  Trainer& trainer_;
  Evaluator& evaluator_;
  Batches &training_, &validation_;
  Communicator& ranks_;
  const ConvergenceSettings& settings_;
  TrainingOracle* const oracle_;
  std::int64_t passes_;  ///< of a step
  std::int64_t steps_;   ///< of an epoch
  RateSchedule schedule_;
  TrainingCheckpoint checkpoint_;
  Convergence result_;
  std::optional<StopRequest> stop_;
  std::int64_t epoch_ = 0, step_ = 0;  ///< completed epochs, and completed steps of the next epoch
  std::optional<double> score_;        ///< of a validation since the last step
  double losses_ = 0;                  ///< sum over these steps, on this rank
  TrainingClock clock_;
  WorkCount work_;
  bool rehearses_ = false;
  std::int64_t rehearsed_ = 0;  ///< steps of the epoch that were made twice
  bool overflowed_ = false;     ///< the checked step has overflowed, so its checks prove nothing
  std::int64_t untimed_ = 0;    ///< checked steps of this epoch whose time is not counted yet
};

}  // namespace

void expect_trainable(const Batches& training, std::int64_t accumulate,
                      const ConvergenceSettings& settings) {
  (void)make_schedule(training, accumulate, settings);
}

Convergence train(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
                  Communicator& ranks, const ConvergenceSettings& settings) {
  return Training(trainer, evaluator, training, validation, ranks, settings).run();
}

}  // namespace assay
