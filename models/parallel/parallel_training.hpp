#pragma once
// Training to a stated quality by a way of parallel training.

#include "models/network/convergence.hpp"
#include "models/parallel/parallel_way.hpp"

namespace assay {

/// Mean loss of the batches of all ranks. Collective.
double mean_loss(const StepTotals& steps, Communicator& ranks);

/// Trains from initial parameters until a validation reaches the target or all epochs are done. In
/// each epoch some steps at a random place are judged (ParallelWay::judge); the time for judging
/// does not count. Adds to `verification` what was checked, and whether the target was reached, as
/// train_to_accuracy() does. Returns no epochs if the training diverged. Collective.
Convergence train_parallel(const WayParts& parts, ParallelWay& way, Verification& verification);

}  // namespace assay
