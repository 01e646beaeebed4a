#include "models/network/parameters.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/api/layout.hpp"
#include "core/api/random.hpp"

namespace assay {
namespace {

/// Elements [first, first + out.size()) of the value that contains all parameters; gaps between
/// parameters are 0.
void fill_initial(const Graph& graph, std::uint64_t seed, std::int64_t first,
                  std::span<double> out) {
  std::fill(out.begin(), out.end(), 0);
  const std::int64_t end = first + static_cast<std::int64_t>(out.size());
  for (const Parameter& parameter : graph.parameters) {
    const std::int64_t from = std::max(first, parameter.offset),
                       to = std::min(end, parameter.offset + parameter.elements());
    if (from >= to) continue;
    const std::span<double> part =
        out.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from));
    if (parameter.bound == 0) {
      std::fill(part.begin(), part.end(), round_to(DataType::fp32, parameter.constant));
      continue;
    }
    Values(Values::Kind::mantissa, seed, parameter.name, DataType::fp32, 0)
        .fill(from - parameter.offset, part);
    for (double& value : part) value = round_to(DataType::fp32, value * parameter.bound);
  }
}

bool holds_filters(const Executor& executor, ValueIndex value) {
  const Graph& graph = executor.graph();
  return executor.filters_last() &&
         std::ranges::count(
             std::array{graph.weights, graph.stored, graph.gradients, graph.batch_gradients,
                        graph.lagged, graph.velocity, graph.second},
             value) > 0;
}

/// reorder_filters() for elements of `type`.
void reorder(const Graph& graph, DataType type, bool kept, std::byte* all) {
  std::vector<std::byte> before;
  for (const Parameter& parameter : graph.parameters) {
    if (!graph.value(parameter.value).filters) continue;
    const TensorSpec spec = plain_tensor(parameter.name, Role::input, type, parameter.dims);
    std::byte* const part = all + static_cast<std::size_t>(parameter.offset) * size_of(type);
    before.assign(part, part + spec.bytes);
    (kept ? place : pack)(spec, channels_last(spec.dims), before.data(), part);
  }
}

}  // namespace

void put_initial(Executor& executor, std::uint64_t seed) {
  const Graph& graph = executor.graph();
  Device& device = executor.device();
  for (const ValueIndex value : {graph.weights, graph.stored}) {
    if (value == Graph::none) continue;
    if (holds_filters(executor, value)) {
      std::vector<double> all(static_cast<std::size_t>(graph.elements(value)));
      fill_initial(graph, seed, 0, all);
      put_values(executor, value, all);
      continue;
    }
    device.put(executor.tensor(value), [&](std::int64_t first, std::span<double> out) {
      fill_initial(graph, seed, first, out);
    });
  }
  for (const ValueIndex value : {graph.velocity, graph.second})
    if (value != Graph::none) device.fill(executor.tensor(value), 0);
}

std::vector<double> initial_statistics(const Graph& graph) {
  std::vector<double> all(static_cast<std::size_t>(graph.elements(graph.batch_statistics)));
  for (const Statistics& statistics : graph.statistics)
    std::fill_n(all.begin() + statistics.variance, statistics.channels, 1);
  return all;
}

void average(const Graph& graph, double momentum, const std::vector<double>& batch,
             std::vector<double>& running) {
  for (const Statistics& statistics : graph.statistics)
    for (std::int64_t c = 0; c < statistics.channels; ++c) {
      const auto mean = static_cast<std::size_t>(statistics.mean + c),
                 variance = static_cast<std::size_t>(statistics.variance + c);
      running[mean] += momentum * (batch[mean] - running[mean]);
      running[variance] += momentum * (statistics.unbiased() * batch[variance] - running[variance]);
    }
}

void put_labels(Executor& executor, std::span<const std::int64_t> labels) {
  if (executor.graph().labels == Graph::none) return;
  executor.device().put(executor.tensor(executor.graph().labels), [labels](std::int64_t first,
                                                                           std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<double>(labels[static_cast<std::size_t>(first) + i]);
  });
}

void put_batch(Executor& executor, std::span<const float> images,
               std::span<const std::int64_t> labels) {
  const Graph& graph = executor.graph();
  Device& device = executor.device();
  put_labels(executor, labels);
  // The tensor's own layout, unless everything is row-major.
  if (executor.nhwc() && graph.value(graph.images).type == DataType::fp32)
    return device.copy(executor.memory(graph.images).get(), images.data(), images.size_bytes());
  const std::vector<std::int64_t>& dims = graph.value(graph.images).dims;
  const std::int64_t channels = dims[1], plane = dims[2] * dims[3];
  device.put(executor.tensor(graph.images), [=](std::int64_t first, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i), image = at / (channels * plane),
                         channel = at / plane % channels, pixel = at % plane;
      out[i] = static_cast<double>(
          images[static_cast<std::size_t>((image * plane + pixel) * channels + channel)]);
    }
  });
}

std::vector<double> read_values(const Executor& executor, ValueIndex value) {
  std::vector<double> all(static_cast<std::size_t>(executor.graph().elements(value)));
  executor.device().stream().wait();
  executor.device().get(executor.tensor(value),
                        [&](std::int64_t first, std::span<const double> part) {
                          std::copy(part.begin(), part.end(), all.begin() + first);
                        });
  if (holds_filters(executor, value))
    reorder(executor.graph(), DataType::fp64, false, std::as_writable_bytes(std::span(all)).data());
  return all;
}

void put_values(Executor& executor, ValueIndex value, std::span<const double> values) {
  std::vector<double> kept;
  if (holds_filters(executor, value)) {
    kept.assign(values.begin(), values.end());
    reorder(executor.graph(), DataType::fp64, true, std::as_writable_bytes(std::span(kept)).data());
    values = kept;
  }
  executor.device().put(executor.tensor(value),
                        [values](std::int64_t first, std::span<double> out) {
                          std::copy_n(values.begin() + first, out.size(), out.begin());
                        });
}

void reorder_filters(const Executor& executor, ValueIndex value, bool kept,
                     std::span<std::byte> all) {
  if (holds_filters(executor, value))
    reorder(executor.graph(), executor.graph().value(value).type, kept, all.data());
}

std::vector<std::byte> read_bytes(const Executor& executor, ValueIndex value) {
  const Graph& graph = executor.graph();
  std::vector<std::byte> all(static_cast<std::size_t>(graph.elements(value)) *
                             size_of(graph.value(value).type));
  executor.device().stream().wait();
  executor.device().copy(all.data(), executor.memory(value).get(), all.size());
  executor.device().stream().wait();
  reorder_filters(executor, value, false, all);
  return all;
}

std::vector<double> read_logits(const Executor& executor) {
  const Graph& graph = executor.graph();
  std::vector<double> all = read_values(executor, graph.logits);
  if (graph.logits_bias == Graph::none) return all;
  const std::vector<double> bias = read_values(executor, graph.logits_bias);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += bias[i % bias.size()];
  return all;
}

}  // namespace assay
