#pragma once
// Compares an operation inside a network with its oracle, on the data of the network.

#include <cstdint>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Largest number of multiply-adds of the reference for one output, in checks of networks.
constexpr double budget_of_node = 2e5;

/// Runs a node as in a step. Before that, reads its inputs and fills its outputs and all its
/// scratch memory with poison(). Afterwards compares the outputs with the oracle of its problem for
/// these inputs, and adds the findings to `result`. `budget`: most multiply-adds of the reference
/// for one output. `seed`: selects the compared elements, if not all are compared. Needs memory for
/// the node's tensors in fp64.
void run_checked(Executor& executor, std::size_t node, double budget, std::uint64_t seed,
                 Verification& result);

}  // namespace assay
