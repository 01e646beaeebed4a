#pragma once
// Judges a step that ranks have made together, by plain accumulation with the undivided network on
// one rank.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/step_oracle.hpp"
#include "models/network/training_workload.hpp"
#include "models/parallel/stage_values.hpp"

namespace assay {

/// A step of all parts of the network, with values in the order of the undivided network.
struct DividedStep {
  StageState before, after;
  LossScaleState scale_before, scale_after;
  double rate = 0, loss = 0;
};

class UndividedOracle {
 public:
  /// Makes another undivided network, for this rank only, with the same backends as `whole`. Its
  /// steps are judged like those of a training on one rank, and have `passes` passes. `in_parts`:
  /// the judged steps make sums within layers in parts. All references must outlive this object.
  /// Throws CaseError or UnsupportedCase if this is impossible.
  UndividedOracle(const TrainingRun& run, const Executor& whole, Plugins& plugins,
                  std::int64_t passes, bool in_parts);

  /// Makes the same step by plain accumulation, with the checks of CheckedSteps, and compares loss,
  /// gradients, weights, moments and statistics. Sums in parts are rounded differently, which
  /// changes signs before rectifiers. So in this case the gradients are compared as one vector with
  /// a wide tolerance (in 16 bits not at all, since they may have nothing in common), and weights
  /// and moments are compared with those after an update by the step's own gradients. `batch`: the
  /// samples of each micro-batch.
  Verification judge(const DividedStep& step,
                     const std::function<const Batch&(std::int64_t pass)>& batch);

  std::int64_t steps() const { return steps_; }
  /// Number of steps whose gradients all had equal bits.
  std::int64_t equal_steps() const { return equal_steps_; }
  const Graph& graph() const { return plain_->graph(); }

 private:
  std::vector<Choice> choices(const Executor& whole) const;
  void put(const StageState& state, const LossScaleState& scale);
  void update_again(const DividedStep& step);
  /// Allowed relative differences of the loss, and of the averages of each normalization.
  struct Tolerances {
    double loss = 0;
    std::vector<double> running;
  };
  Tolerances find_tolerances(const DividedStep& step, const Batch& batch);
  /// Checks that a step was skipped only because of its gradients, and that it then changed
  /// nothing.
  void judge_skipped(const DividedStep& step, bool skipped, Verification& verification) const;
  void compare_state(const DividedStep& step, const Trainer::State& after,
                     Verification& verification);
  void compare_gradients(const StageState& after, Verification& verification);
  void compare_loss(const DividedStep& step, double loss, double allowed,
                    Verification& verification) const;
  void compare_running(const StageState& after, const std::vector<double>& running,
                       const Tolerances& allowed, Verification& verification) const;

  const TrainingRun& run_;
  const std::int64_t passes_;
  const bool in_parts_;
  std::unique_ptr<Communicator> alone_;
  std::unique_ptr<Trainer> plain_;
  std::unique_ptr<StepOracle> oracle_;
  std::unique_ptr<CheckedSteps> checks_;
  std::int64_t steps_ = 0, equal_steps_ = 0;
};

}  // namespace assay
