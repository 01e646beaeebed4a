#pragma once
// One case from preparation to outcome, agreed between all ranks.

#include <functional>
#include <memory>

#include "core/api/communicator.hpp"
#include "core/base/unsupported.hpp"
#include "core/measure/outcome.hpp"

namespace assay {

/// Makes the workload of a case, or says why it cannot.
using Prepare = std::function<Result<std::unique_ptr<Workload>>()>;

/// Prepares, verifies, times and verifies again. After each step the ranks agree: the gravest
/// status of any rank is everybody's, so that no rank goes on into a collective call that another
/// will never make. Exceptions become `failed` outcomes.
Outcome run_case(const Prepare& prepare, Communicator& ranks, const TimingOptions& timing);

}  // namespace assay
