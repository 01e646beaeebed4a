#pragma once
// Reading and writing of a network's values: initial parameters, images of a step, moving averages
// of statistics.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/network/executor.hpp"

namespace assay {

/// Writes the initial parameters (and their 16-bit copies), which depend on the seed and the names
/// of the parameters: Values with the stream of the name, scaled to (-bound, bound), or the
/// constant (Parameter). Velocities become 0.
void put_initial(Executor& executor, std::uint64_t seed);

/// Initial moving averages: means 0, variances 1, in the order of Graph::batch_statistics.
std::vector<double> initial_statistics(const Graph& graph);
/// The momentum of moving averages in training: PyTorch's default.
inline constexpr double statistics_momentum = 0.1;
/// running += momentum (batch - running), with unbiased variances.
void average(const Graph& graph, double momentum, const std::vector<double>& batch,
             std::vector<double>& running);

/// Writes the images [batch, side, side, 3] and the labels of a step.
void put_batch(Executor& executor, std::span<const float> images,
               std::span<const std::int64_t> labels);
void put_labels(Executor& executor, std::span<const std::int64_t> labels);

/// All elements of a value in row-major order, after all submitted work is done. A value that holds
/// all parameters (Graph::weights) has each parameter in its row-major order.
std::vector<double> read_values(const Executor& executor, ValueIndex value);
void put_values(Executor& executor, ValueIndex value, std::span<const double> values);
/// The same elements as they are stored.
std::vector<std::byte> read_bytes(const Executor& executor, ValueIndex value);
/// The bytes of a value that holds all parameters, from row-major order to the executor's (`kept`)
/// or back.
void reorder_filters(const Executor& executor, ValueIndex value, bool kept,
                     std::span<std::byte> all);
/// Logits [batch, classes] with the bias that the loss adds, if there is one.
std::vector<double> read_logits(const Executor& executor);

}  // namespace assay
