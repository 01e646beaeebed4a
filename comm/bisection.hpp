#pragma once
// Bisection: half of the ranks send to the other half, pair by pair and all pairs at once, then
// back, in one random permutation after the other. Each rank has a time for each of its partners,
// so a slow link is found by the pairs that use it.

#include <memory>

#include "comm/collective.hpp"
#include "comm/collective_operation.hpp"
#include "core/measure/links.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Takes over `ranks`, whose messages are those of the host (a pair's time is read from its clock).
/// Its metrics are the findings. Every byte that every rank receives is checked.
std::unique_ptr<Workload> bisection_workload(const CollectiveProblem& problem,
                                             std::unique_ptr<Communicator> ranks,
                                             const CollectiveSettings& settings, Device& device,
                                             std::unique_ptr<Oracle> oracle, double create_seconds,
                                             const OperationSetup& setup);

}  // namespace assay
