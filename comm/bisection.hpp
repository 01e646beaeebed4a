#pragma once
// Bisection: half of the ranks send to the other half, in pairs and all pairs at once, then back.
// This is repeated for several random permutations. Each rank has a time for each of its partners,
// so the pairs that use a slow link reveal it.

#include <memory>

#include "comm/collective.hpp"
#include "comm/collective_operation.hpp"
#include "core/measure/links.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Takes over `ranks`, whose messages are in host memory (a pair's time is read from the host's
/// clock). The metrics are the findings about pairs and links. Every byte that every rank receives
/// is checked.
std::unique_ptr<Workload> make_bisection_workload(const CollectiveProblem& problem,
                                                  std::unique_ptr<Communicator> ranks,
                                                  const CollectiveSettings& settings,
                                                  Device& device, std::unique_ptr<Oracle> oracle,
                                                  double create_seconds,
                                                  const OperationSetup& setup);

}  // namespace assay
