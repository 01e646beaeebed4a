#pragma once
// Trainings whose ranks divide the work in another way than synchronous SGD, as workloads.

#include <memory>

#include "models/network/training_workload.hpp"

namespace assay {

/// The workload of a training with run.parallel other than sync. Unsupported where the way does not
/// fit the network, the transport or the other options. `plugins` and `ranks` must outlive it.
/// Collective.
Result<std::unique_ptr<Workload>> parallel_workload(const TrainingRun& run, Plugins& plugins,
                                                    Communicator& ranks);

}  // namespace assay
