#include "models/parallel/split_graph.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "models/network/graph_builder.hpp"
#include "models/parallel/split_plan.hpp"

namespace assay {
namespace {

/// Adds all layers to a builder.
void add_layers(GraphBuilder& builder, const Network& network, const Learning& learning,
                int ranks) {
  const Graph pass = make_gradient_graph(network, 1, Precision::fp32, learning);
  builder.divide(ranks, list_divided_layers(pass, ranks));
  network.add_layers(builder, learning);
  builder.backward();
}

}  // namespace

Graph split_pass(const Network& network, std::int64_t batch, Precision precision,
                 const Learning& learning, int ranks) {
  GraphBuilder builder(batch, precision, true, learning.narrow_gradients);
  add_layers(builder, network, learning, ranks);
  return builder.finish();
}

Graph split_step(const Network& network, std::int64_t batch, Precision precision,
                 const Learning& learning, int ranks, bool accumulates, MaskSeed masks) {
  GraphBuilder builder(batch, precision, true, learning.narrow_gradients, masks);
  add_layers(builder, network, learning, ranks);
  return finish_training(std::move(builder), learning, accumulates);
}

SplitFlops split_flops(const Graph& whole, const Graph& part) {
  SplitFlops flops;
  for (std::size_t i = 0; i < whole.nodes.size(); ++i) {
    if (whole.nodes[i].phase != Phase::forward && whole.nodes[i].phase != Phase::backward) continue;
    const double all = whole.nodes[i].problem->flops(), own = part.nodes[i].problem->flops();
    flops.all += all;
    flops.of_rank += own;
    if (own < all) flops.divided += all;
  }
  return flops;
}

PartsOfParameters::PartsOfParameters(const Graph& whole, const Graph& part, int rank,
                                     bool filters_last) {
  for (std::size_t i = 0; i < whole.parameters.size(); ++i) {
    const Parameter &all = whole.parameters[i], &own = part.parameters[i];
    const auto elements = [](const Parameter& parameter, std::ptrdiff_t from) {
      return std::accumulate(parameter.dims.begin() + from, parameter.dims.end(), std::int64_t{1},
                             std::multiplies<>());
    };
    const bool by_points = filters_last && whole.value(all.value).filters;
    const std::int64_t points = by_points ? elements(own, 2) : 1;  // rows of an output
    Block block{all.offset, own.offset, own.dims[0] * points, elements(own, 1) / points,
                elements(all, 1) / points};
    if (own.dims[0] < all.dims[0]) block.whole += rank * block.rows * block.whole_columns;
    if (block.columns < block.whole_columns) block.whole += rank * block.columns;
    blocks_.push_back(block);
  }
  for (std::size_t i = 0; i < whole.statistics.size(); ++i) {
    const Statistics &all = whole.statistics[i], &own = part.statistics[i];
    const std::int64_t first = own.channels < all.channels ? rank * own.channels : 0;
    statistics_.push_back({all.mean + first, own.mean, 1, own.channels, own.channels});
    statistics_.push_back({all.variance + first, own.variance, 1, own.channels, own.channels});
  }
}

template <class Copy>
void PartsOfParameters::each_row(const std::vector<Block>& blocks, const Copy& copy) {
  for (const Block& block : blocks)
    for (std::int64_t row = 0; row < block.rows; ++row)
      copy(static_cast<std::size_t>(block.whole + row * block.whole_columns),
           static_cast<std::size_t>(block.part + row * block.columns),
           static_cast<std::size_t>(block.columns));
}

void PartsOfParameters::take(const std::vector<std::byte>& whole, std::vector<std::byte>& part,
                             std::size_t size) const {
  each_row(blocks_, [&](std::size_t in_whole, std::size_t in_part, std::size_t count) {
    std::memcpy(part.data() + in_part * size, whole.data() + in_whole * size, count * size);
  });
}

void PartsOfParameters::place(const std::vector<std::byte>& part, std::vector<std::byte>& whole,
                              std::size_t size) const {
  each_row(blocks_, [&](std::size_t in_whole, std::size_t in_part, std::size_t count) {
    std::memcpy(whole.data() + in_whole * size, part.data() + in_part * size, count * size);
  });
}

void PartsOfParameters::take_statistics(const std::vector<double>& whole,
                                        std::vector<double>& part) const {
  each_row(statistics_, [&](std::size_t in_whole, std::size_t in_part, std::size_t count) {
    std::copy_n(whole.data() + in_whole, count, part.data() + in_part);
  });
}

void PartsOfParameters::place_statistics(const std::vector<double>& part,
                                         std::vector<double>& whole) const {
  each_row(statistics_, [&](std::size_t in_whole, std::size_t in_part, std::size_t count) {
    std::copy_n(part.data() + in_part, count, whole.data() + in_whole);
  });
}

}  // namespace assay
