#include "models/parallel/parallel_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/claimed_rate.hpp"
#include "models/network/evaluation_oracle.hpp"
#include "models/network/schedule.hpp"
#include "models/network/training_clock.hpp"
#include "models/network/training_texts.hpp"
#include "models/network/training_to_accuracy.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

constexpr std::size_t nodes_of_validation = 6;

class ParallelTraining {
 public:
  ParallelTraining(const WayParts& parts, ParallelWay& way, Evaluator& evaluator,
                   Batches& validation)
      : run_(parts.run),
        settings_(parts.run.convergence),
        ranks_(parts.ranks),
        way_(way),
        evaluator_(evaluator),
        validation_(validation),
        steps_(OrderedBatches(parts.run, parts.ranks).count() /
               (replicas(run_.parallel, ranks_.size()) * run_.trainer.accumulate)),
        schedule_({settings_.rate, settings_.warmup_epochs * steps_, settings_.epochs * steps_,
                   std::max<std::int64_t>(steps_, 1), settings_.decay}) {
    if (steps_ < 1)
      throw InputError("--batch: an epoch has too few images for one step. Use a smaller one.");
    result_.verification.passed = true;
    if (!run_.claims) return;
    data_.emplace(DataClaims(*run_.claims, run_.definition.input, run_.claimed_seed),
                  ranks_.rank());
    oracle_.emplace(*data_, ranks_);
  }

  Convergence run() {
    clock_.start();
    for (std::int64_t epoch = 0; epoch < settings_.epochs && !result_.reached; ++epoch) {
      EpochResult result;
      result.epoch = epoch + 1;
      result.started_unix_s = clock_.unix_s();
      const double begun = clock_.counted_seconds();
      const StepTotals sum = one_epoch(epoch);
      result.images_per_s =
          static_cast<double>(steps_ * run_.trainer.accumulate * run_.trainer.batch *
                              replicas(run_.parallel, ranks_.size())) /
          (clock_.counted_seconds() - begun);
      result.trained_unix_s = result.ended_unix_s = clock_.unix_s();
      result.training_loss = mean_loss(sum, ranks_);
      expect_finite(result.training_loss, "the loss", result.epoch);
      if (result.epoch % settings_.validate_every == 0 || result.epoch == settings_.epochs)
        validate(result);
      result.seconds = clock_.counted_seconds();
      result_.epochs.push_back(result);
      if (settings_.progress) settings_.progress(format_epoch(result));
    }
    if (oracle_) {
      Verification seen;
      seen.checked = oracle_->checked();
      add(seen, oracle_->fault());
    }
    return std::move(result_);
  }

 private:
  StepTotals one_epoch(std::int64_t epoch) {
    std::mt19937_64 random(run_.trainer.seed + static_cast<std::uint64_t>(epoch) + 1);
    const std::int64_t judged = std::min(steps_, steps_of_run(run_.parallel));
    const auto first =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(steps_ - judged + 1));
    StepTotals sum;
    add_steps(epoch, 0, first, false, sum);
    {
      const ClockPause left_out(clock_);
      way_.prepare_judge();
    }
    add_steps(epoch, first, first + judged, true, sum);
    {
      const ClockPause left_out(clock_);
      Verification verification;
      verification.passed = true;
      way_.judge(verification);
      add(verification, verification.reason);
    }
    add_steps(epoch, first + judged, steps_, false, sum);
    return sum;
  }

  void add_steps(std::int64_t epoch, std::int64_t first, std::int64_t end, bool judged,
                 StepTotals& sum) {
    if (first == end) return;
    const StepRange range{epoch, first, rates(epoch * steps_ + first, end - first), judged};
    const StepTotals steps = way_.make(range);
    sum.losses += steps.losses;
    sum.batches += steps.batches;
    double images = steps.images;
    RankCalls(ranks_).sum(std::span(&images, 1));
    const auto expected =
        static_cast<double>(range.count() * run_.trainer.accumulate * run_.trainer.batch *
                            replicas(run_.parallel, ranks_.size()));
    if (images != expected)
      throw WrongResult(
          fmt::format("{} steps of epoch {} have trained on {:.0f} images, not {:.0f}",
                      range.count(), epoch + 1, images, expected));
    result_.steps += range.count();
  }

  /// Rank 0's rates, because the last bit of a rate may depend on the processor.
  std::vector<double> rates(std::int64_t first, std::int64_t count) {
    std::vector<double> all;
    for (std::int64_t step = first; step < first + count; ++step)
      all.push_back(schedule_.rate(step));
    RankCalls(ranks_).broadcast(all);
    if (!run_.claims) return all;
    const ClaimedRate claimed(*run_.claims, steps_);
    for (std::int64_t step = first; step < first + count; ++step)
      if (const double rate = all[static_cast<std::size_t>(step - first)];
          !ClaimedRate::agrees(rate, claimed.at(step)))
        result_.verification.fail(
            fmt::format("step {} has the learning rate {}, not {}", step, rate, claimed.at(step)));
    return all;
  }

  void validate(EpochResult& result) {
    way_.gather();
    StepCheck check = random_check(evaluator_.executor().graph(), nodes_of_validation,
                                   run_.trainer.seed + static_cast<std::uint64_t>(result.epoch));
    const Evaluation evaluation =
        evaluator_.evaluate(validation_, &check, oracle_ ? &*oracle_ : nullptr);
    clock_.leave_out(evaluation.check_seconds);
    add(check.verification, check.verification.reason);
    expect_finite(evaluation.loss, "the loss of validation", result.epoch);
    result.evaluation = evaluation;
    result.ended_unix_s = clock_.unix_s();
    result_.reached = evaluation.score >= settings_.target;
  }

  void add(const Verification& verification, const std::string& reason) {
    result_.verification.checked += verification.checked;
    result_.verification.wrong_elements += verification.wrong_elements;
    result_.verification.fail(reason);
  }

  static void expect_finite(double loss, const char* what, std::int64_t epoch) {
    if (std::isfinite(loss)) return;
    throw Divergence(
        fmt::format("training diverged: {} is {} in epoch {}. Use a smaller learning rate, or a "
                    "longer warm-up.",
                    what, loss, epoch));
  }

  const TrainingRun& run_;
  const ConvergenceSettings& settings_;
  Communicator& ranks_;
  ParallelWay& way_;
  Evaluator& evaluator_;
  Batches& validation_;
  std::int64_t steps_;  ///< of an epoch
  RateSchedule schedule_;
  std::optional<BatchOracle> data_;
  std::optional<EvaluationOracle> oracle_;
  TrainingClock clock_;
  Convergence result_;
};

}  // namespace

double mean_loss(const StepTotals& steps, Communicator& ranks) {
  double sums[] = {steps.losses, steps.batches};
  RankCalls(ranks).sum(sums);
  return sums[0] / sums[1];
}

Convergence train_parallel(const WayParts& parts, ParallelWay& way, Verification& verification) {
  const TrainingRun& run = parts.run;
  auto evaluator = Evaluator::make(parts.whole, parts.plugins, parts.ranks);
  if (const auto* const refusal = std::get_if<Unsupported>(&evaluator))
    throw CaseError("nothing validates the network: " + refusal->reason);
  const auto validation = make_validation_batches(
      run.data,
      {run.trainer.batch, parts.ranks.rank(), parts.ranks.size(), true, run.trainer.seed});
  parts.whole.initialise();
  way.begin();
  return judge_training(
      run,
      [&] {
        return ParallelTraining(parts, way, *std::get<std::unique_ptr<Evaluator>>(evaluator),
                                *validation)
            .run();
      },
      verification);
}

}  // namespace assay
