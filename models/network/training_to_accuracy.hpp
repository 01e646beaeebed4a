#pragma once
// Training to an accuracy, as a part of a row.

#include <cstdint>
#include <functional>

#include "models/network/convergence.hpp"
#include "models/network/training_workload.hpp"

namespace assay {

/// All must outlive the training. `oracle` may be null.
struct TrainingParts {
  Trainer& trainer;
  Batches &training, &validation;
  StepOracle* oracle;
};

/// Trains from initial parameters, or from a checkpoint. Adds to `verification` what was checked,
/// and, if the run requires it, whether the training has reached its target. `count_bad` counts bad
/// samples after each epoch of a training on files. If the training diverged, returns no epochs,
/// and `verification` says so. CaseError if no backend can validate the network. Collective.
Convergence train_to_accuracy(const TrainingRun& run, const TrainingParts& parts, Plugins& plugins,
                              Communicator& ranks, const std::function<std::int64_t()>& count_bad,
                              Verification& verification);

/// Calls `train`, and adds to `verification` as train_to_accuracy() does.
Convergence judge_training(const TrainingRun& run, const std::function<Convergence()>& train,
                           Verification& verification);

}  // namespace assay
