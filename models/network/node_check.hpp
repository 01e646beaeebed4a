#pragma once
// Checks one operation inside a network against its oracle, on the data that the network has.

#include <cstdint>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Runs a node as a step does, but reads its inputs before, fills its outputs with what no result
/// has, and compares them, when it has run, with the oracle of its problem for these inputs. Adds
/// what it finds to `result`. `budget`: multiply-adds of the reference of one output; `seed`: of
/// the elements that are compared where not all are. Holds the tensors of the node in fp64.
void run_checked(Executor& executor, std::size_t node, double budget, std::uint64_t seed,
                 Verification& result);

}  // namespace assay
