#pragma once
// Compares an operation inside a network with its oracle, on the data of the network.

#include <cstdint>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// Most multiply-adds of the reference of one output, in checks of networks.
constexpr double budget_of_node = 2e5;

/// Runs a node as in a step. Before it runs, reads its inputs and fills its outputs, and all
/// scratch memory, with poison(); afterwards compares the outputs with the oracle of its problem
/// for these inputs, and adds the findings to `result`. `budget`: most multiply-adds of the
/// reference of one output. `seed`: selects the elements that are compared, if not all are. Needs
/// memory for the node's tensors in fp64.
void run_checked(Executor& executor, std::size_t node, double budget, std::uint64_t seed,
                 Verification& result);

}  // namespace assay
