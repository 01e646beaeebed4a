#include "models/parallel/split_graph.hpp"

#include <cstring>
#include <utility>

#include "models/network/graph_builder.hpp"

namespace assay {
namespace {

/// A builder that has all layers.
void add_layers(GraphBuilder& builder, const Network& network, const Learning& learning,
                int ranks) {
  builder.divide(ranks);
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

PartsOfParameters::PartsOfParameters(const Graph& whole, const Graph& part, int rank) {
  for (std::size_t i = 0; i < whole.parameters.size(); ++i) {
    const Parameter &all = whole.parameters[i], &own = part.parameters[i];
    const bool matrix = all.dims.size() == 2;
    Block block{all.offset, own.offset, own.dims[0], matrix ? own.dims[1] : 1,
                matrix ? all.dims[1] : 1};
    if (own.dims[0] < all.dims[0]) block.whole += rank * own.dims[0] * block.whole_columns;
    if (block.columns < block.whole_columns) block.whole += rank * block.columns;
    blocks_.push_back(block);
  }
}

template <class Copy>
void PartsOfParameters::each_row(const Copy& copy) const {
  for (const Block& block : blocks_)
    for (std::int64_t row = 0; row < block.rows; ++row)
      copy(static_cast<std::size_t>(block.whole + row * block.whole_columns),
           static_cast<std::size_t>(block.part + row * block.columns),
           static_cast<std::size_t>(block.columns));
}

void PartsOfParameters::take(const std::vector<std::byte>& whole, std::vector<std::byte>& part,
                             std::size_t size) const {
  each_row([&](std::size_t in_whole, std::size_t in_part, std::size_t count) {
    std::memcpy(part.data() + in_part * size, whole.data() + in_whole * size, count * size);
  });
}

void PartsOfParameters::place(const std::vector<std::byte>& part, std::vector<std::byte>& whole,
                              std::size_t size) const {
  each_row([&](std::size_t in_whole, std::size_t in_part, std::size_t count) {
    std::memcpy(whole.data() + in_whole * size, part.data() + in_part * size, count * size);
  });
}

}  // namespace assay
