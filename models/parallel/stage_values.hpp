#pragma once
// The values of all stages on every rank, and their places in the undivided network.

#include <cstddef>
#include <span>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"
#include "models/parallel/stage_graph.hpp"

namespace assay {

/// The state of a stage: the bytes of each value in the order of stage_values() (empty if its graph
/// lacks the value), and its moving averages.
struct StageState {
  std::vector<std::vector<std::byte>> values;
  std::vector<double> running;
};

/// Values that contain all parameters: weights, velocities, second moments, 16-bit copies,
/// gradients.
const std::vector<ValueIndex Graph::*>& stage_values();

/// Copies the bytes of rank `root` to all ranks; all have the same number of bytes. Collective.
void broadcast_bytes(std::span<std::byte> bytes, int root, Communicator& ranks);

StageState read_state(const Executor& executor, const std::vector<double>& running);

/// The state of the undivided network, assembled from the states of all stages. `own`: the state of
/// this rank's stage. `whole`: the graph of the undivided network. Collective.
StageState state_of_all(const StageState& own, const std::vector<Stage>& stages, const Graph& whole,
                        Communicator& ranks);

/// Writes all values except the gradients. The caller must set the moving averages.
void put_state(const StageState& state, Executor& executor);

}  // namespace assay
