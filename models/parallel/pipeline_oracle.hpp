#pragma once
// Judges a step of a pipeline by plain accumulation on the undivided network, which one rank makes.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/step_oracle.hpp"
#include "models/network/training_workload.hpp"
#include "models/parallel/stage_values.hpp"

namespace assay {

/// A step as all stages have made it, in the order of the undivided network.
struct PipelineStep {
  StageState before, after;
  LossScaleState scale_before, scale_after;
  double rate = 0, loss = 0;
};

class PipelineOracle {
 public:
  /// Makes the undivided network again, for this rank alone, with the same backends as `whole`. Its
  /// steps are judged as those of a training on one rank. All arguments must outlive it. Throws
  /// CaseError or UnsupportedCase if it cannot.
  PipelineOracle(const TrainingRun& run, const Executor& whole, Plugins& plugins);

  /// Makes the same step by plain accumulation, with the checks of CheckedSteps, and compares loss,
  /// gradients, weights, moments and statistics. `batch`: the samples of each micro-batch.
  Verification judge(const PipelineStep& step,
                     const std::function<const Batch&(std::int64_t pass)>& batch);

  std::int64_t steps() const { return steps_; }
  /// Steps of which all gradients were equal bit by bit.
  std::int64_t equal_steps() const { return equal_steps_; }
  const Graph& graph() const { return plain_->graph(); }

 private:
  void put(const StageState& state, const LossScaleState& scale);
  void compare(const PipelineStep& step, const Trainer::State& after, Verification& found);
  void compare_gradients(const StageState& after, Verification& found);
  void compare_numbers(const PipelineStep& step, Verification& found) const;

  const TrainingRun& run_;
  std::unique_ptr<Communicator> alone_;
  std::unique_ptr<Trainer> plain_;
  std::unique_ptr<StepOracle> oracle_;
  std::unique_ptr<CheckedSteps> checks_;
  std::int64_t steps_ = 0, equal_steps_ = 0;
};

}  // namespace assay
