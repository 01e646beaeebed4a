#pragma once
// Workloads of trainings whose ranks divide the work differently from synchronous SGD.

#include <memory>

#include "models/network/training_workload.hpp"

namespace assay {

/// The workload of a training whose run.parallel is not sync. Unsupported if the way does not fit
/// the network, the transport or other options. `plugins` and `ranks` must outlive it. Collective.
Result<std::unique_ptr<Workload>> make_parallel_workload(const TrainingRun& run, Plugins& plugins,
                                                         Communicator& ranks);

}  // namespace assay
