// Tiramisu (S. Jegou et al., The One Hundred Layers Tiramisu, arXiv:1611.09326) in the version of
// the exaflop run: dense blocks of few layers with wide filters.
#include <fmt/format.h>

#include "models/climate/shape.hpp"

namespace assay {
namespace {

constexpr std::int64_t first_channels = 48, growth = 32;
constexpr int layers_of_block[] = {2, 2, 2, 4}, layers_of_bottom = 5;
constexpr int levels = 4;

ValueIndex conv(GraphBuilder& builder, const std::string& name, ValueIndex from,
                std::int64_t channels, std::int64_t taps, std::int64_t stride = 1) {
  return builder.conv_biased(name, from, channels, taps, {.stride = stride, .padding = taps / 2},
                             ActivationFunction::relu);
}

/// The block's input and the outputs of its layers. Each layer reads all values before it.
std::vector<ValueIndex> dense_block(GraphBuilder& builder, const std::string& name, ValueIndex from,
                                    int layers, std::int64_t channels) {
  std::vector<ValueIndex> all{from};
  for (int i = 1; i <= layers; ++i) {
    const std::string layer = fmt::format("{}.layer{}", name, i);
    all.push_back(
        conv(builder, layer, i == 1 ? from : builder.concat(layer + ".in", all), channels, 5));
  }
  return all;
}

}  // namespace

void add_tiramisu(GraphBuilder& builder, const ClimateShape& shape) {
  const std::int64_t grown = growth / shape.divisor;
  std::int64_t channels = first_channels / shape.divisor;
  ValueIndex x = conv(builder, "first", builder.images({shape.channels, shape.height, shape.width}),
                      channels, 5);
  std::vector<ValueIndex> skips;
  for (int level = 0; level < levels; ++level) {
    const std::string name = fmt::format("down{}", level + 1);
    skips.push_back(builder.concat(name + ".all",
                                   dense_block(builder, name, x, layers_of_block[level], grown)));
    channels += layers_of_block[level] * grown;
    x = conv(builder, name + ".out", skips.back(), channels, 1, 2);
  }
  std::vector<ValueIndex> block = dense_block(builder, "bottom", x, layers_of_bottom, grown);
  for (int level = levels; level-- > 0;) {
    // Upsamples only the channels that the block below has made, not those that it has read.
    const std::string name = fmt::format("up{}", level + 1);
    const std::vector<ValueIndex> added(block.begin() + 1, block.end());
    const ValueIndex up = builder.deconv(name + ".in", builder.concat(name + ".below", added),
                                         static_cast<std::int64_t>(added.size()) * grown, 3, 2, 1,
                                         shape.height >> level, shape.width >> level);
    x = builder.concat(name + ".joined", {up, skips[static_cast<std::size_t>(level)]});
    block = dense_block(builder, name, x, layers_of_block[level], grown);
  }
  x = builder.conv_biased("logits", builder.concat("all", block), climate_classes, 1, {},
                          ActivationFunction::identity);
  builder.pixel_cross_entropy(x, class_weights(shape), shape.factor);
}

}  // namespace assay
