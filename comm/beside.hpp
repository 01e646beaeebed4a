#pragma once
// A victim beside an aggressor: the even ranks call an allreduce again and again, first alone, then
// while the odd ranks exchange long messages (alltoall). The latencies of single calls show how
// much the victims are delayed.

#include <memory>

#include "comm/collective.hpp"
#include "comm/collective_operation.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Calls of the victims in each part of a run.
inline constexpr int beside_calls = 100;

/// Why it cannot be run, or "".
std::string why_not_beside(const CollectiveProblem& problem, const Communicator& ranks);

/// Takes over `ranks`, whose messages are in host memory. A run has no rate; its metrics are the
/// median and the 99th percentile of a call, alone and beside, of the slowest victim. All elements
/// of the last call of each rank are checked, the aggressors' too.
std::unique_ptr<Workload> make_beside_workload(const CollectiveProblem& problem,
                                               std::unique_ptr<Communicator> ranks,
                                               const CollectiveSettings& settings, Device& device,
                                               double create_seconds, const OperationSetup& setup);

}  // namespace assay
