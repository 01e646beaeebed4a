#pragma once
// The values of all stages on every rank, and their places in the undivided network.

#include <cstddef>
#include <span>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"
#include "models/parallel/stage_graph.hpp"

namespace assay {

/// The state of a stage as bytes: of each value in the order of stage_values(), then its moving
/// averages. Values that its graph lacks are empty.
struct StageState {
  std::vector<std::vector<std::byte>> values;
  std::vector<double> running;
};

/// Values that have all parameters side by side: weights, velocities, second moments, 16-bit
/// copies, gradients.
const std::vector<ValueIndex Graph::*>& stage_values();

/// Copies the bytes of rank `root` to all ranks, which have as many. Collective.
void broadcast_bytes(std::span<std::byte> bytes, int root, Communicator& ranks);

StageState read_state(const Executor& executor, const std::vector<double>& running);

/// The state of the undivided network that has the parameters of all stages, from `own`, the state
/// of this rank's stage. `whole`: its graph. Collective.
StageState state_of_all(const StageState& own, const std::vector<Stage>& stages, const Graph& whole,
                        Communicator& ranks);

/// Writes all values but the gradients; the moving averages are left to the caller.
void put_state(const StageState& state, Executor& executor);

}  // namespace assay
