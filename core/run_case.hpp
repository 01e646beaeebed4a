#pragma once
// One case from preparation to outcome, agreed between all ranks.

#include "core/benchmark.hpp"
#include "core/result.hpp"

namespace assay {

/// Prepares, verifies, times and verifies again. After each step the ranks agree: the gravest
/// status of any rank is everybody's, so that no rank goes on into a collective call that another
/// will never make. Exceptions become `failed` outcomes.
Outcome run_case(const Benchmark& benchmark, const Case& one, CaseContext& context,
                 const TimingOptions& timing);

}  // namespace assay
