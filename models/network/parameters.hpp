#pragma once
// What a network begins with, the images of a step, and the moving averages that inference uses.

#include <cstdint>
#include <span>
#include <vector>

#include "models/network/executor.hpp"

namespace assay {

/// Writes all parameters (and their 16-bit copies) as functions of the seed and their names, and
/// velocities of 0: weights are uniform in (-bound, bound), by Values of the parameter's name.
void put_initial(Executor& executor, std::uint64_t seed);

/// Moving averages before any data: mean 0, variance 1, as Graph::batch_statistics lays them out.
std::vector<double> initial_statistics(const Graph& graph);
/// running += momentum (batch - running), of variances the unbiased ones.
void average(const Graph& graph, double momentum, const std::vector<double>& batch,
             std::vector<double>& running);

/// Writes the images [batch, side, side, 3] and labels of a step.
void put_batch(Executor& executor, std::span<const float> images,
               std::span<const std::int64_t> labels);
void put_labels(Executor& executor, std::span<const std::int64_t> labels);

/// All elements of a value, after all that was submitted.
std::vector<double> read_values(const Executor& executor, ValueIndex value);
/// Logits [batch, classes] with the bias of the last layer, which the loss adds as it reads them.
std::vector<double> read_logits(const Executor& executor);

}  // namespace assay
