#include "models/resnet50/resnet.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/base/descriptor.hpp"
#include "models/network/graph_builder.hpp"
#include "models/resnet50/definition.hpp"

namespace assay {
namespace {

constexpr std::int64_t widest = 4096, largest_image = 65536, most_classes = std::int64_t{1} << 24;

/// Height and width of the last stage, which halves five times, rounding up.
std::int64_t outputs(std::int64_t image) {
  for (int i = 0; i < 5; ++i) image = (image + 1) / 2;
  return image;
}

/// Basic blocks have two 3x3 convolutions, bottlenecks 1x1, 3x3 and 1x1 with four times the
/// channels.
ValueIndex block(GraphBuilder& builder, const std::string& name, ValueIndex from,
                 bool changes_shape, std::int64_t channels, std::int64_t stride, bool bottleneck,
                 double last_norm) {
  const std::int64_t out = bottleneck ? 4 * channels : channels;
  const std::string last = bottleneck ? "3" : "2";
  ValueIndex x = builder.conv(name + ".conv1", from, channels, bottleneck ? 1 : 3,
                              bottleneck ? 1 : stride, bottleneck ? 0 : 1);
  x = builder.norm(name + ".bn1", x, NormFusion::relu);
  if (bottleneck) {
    x = builder.conv(name + ".conv2", x, channels, 3, stride, 1);
    x = builder.norm(name + ".bn2", x, NormFusion::relu);
    x = builder.conv(name + ".conv3", x, out, 1, 1, 0);
  } else {
    x = builder.conv(name + ".conv2", x, channels, 3, 1, 1);
  }
  ValueIndex shortcut = from;
  if (changes_shape) {
    shortcut = builder.conv(name + ".downsample.0", from, out, 1, stride, 0);
    shortcut = builder.norm(name + ".downsample.1", shortcut, NormFusion::none);
  }
  return builder.norm(name + ".bn" + last, x, NormFusion::add_relu, shortcut, last_norm);
}

void add_layers(GraphBuilder& builder, const ResnetShape& shape, const Learning& learning) {
  const bool bottleneck = shape.depth == 50;
  const std::vector<int> blocks = bottleneck ? std::vector{3, 4, 6, 3} : std::vector{2, 2, 2, 2};
  ValueIndex x = builder.images(photograph(shape.image));
  x = builder.conv("conv1", x, shape.width, 7, 2, 3);
  x = builder.norm("bn1", x, NormFusion::relu);
  x = builder.pool("maxpool", x, PoolMode::max, 3, 2, 1);
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      x = block(builder, fmt::format("layer{}.{}", stage + 1, i), x,
                i == 0 && (bottleneck || stride != 1), shape.width << stage, stride, bottleneck,
                learning.last_norm);
    }
  const std::int64_t side = outputs(shape.image);
  x = builder.pool("avgpool", x, PoolMode::average, side, 1, 0);
  builder.classify("fc", x, shape.classes, learning.smoothing);
}

}  // namespace

ResnetShape parse_resnet(const std::string& descriptor) {
  if (descriptor == "resnet50-imagenet") return {};
  const DescriptorComplaint complain("resnet50", descriptor);
  const auto fields = read_counts(descriptor, {"d", "w", "s", "c"}, {}, complain);
  const auto value = [&](const char* name, std::int64_t otherwise, std::int64_t most) {
    const auto entry = fields.find(name);
    if (entry == fields.end()) return otherwise;
    if (entry->second > most) complain("{} is {}. Use at most {}.", name, entry->second, most);
    return entry->second;
  };
  ResnetShape shape;
  shape.depth = static_cast<int>(value("d", shape.depth, 50));
  if (shape.depth != 18 && shape.depth != 50)
    complain("depth {} is none. Use d18 or d50.", shape.depth);
  shape.width = value("w", shape.width, widest);
  shape.image = value("s", shape.image, largest_image);
  shape.classes = value("c", shape.classes, most_classes);
  return shape;
}

std::string to_descriptor(const ResnetShape& shape) {
  return fmt::format("d{}w{}s{}c{}", shape.depth, shape.width, shape.image, shape.classes);
}

/// The descriptor is written without to_descriptor(), which makes the text of a case, so that
/// expect_network() compares two independent sources.
Network make_resnet(const ResnetShape& shape) {
  Network network;
  network.family = "resnet";
  network.descriptor =
      fmt::format("d{}w{}s{}c{}", shape.depth, shape.width, shape.image, shape.classes);
  network.fields = {{"depth", shape.depth},
                    {"width", shape.width},
                    {"image_size", shape.image},
                    {"classes", shape.classes}};
  network.input = photograph(shape.image);
  network.classes = shape.classes;
  network.add_layers = [shape](GraphBuilder& builder, const Learning& learning) {
    add_layers(builder, shape, learning);
  };
  network.make_small = [depth = shape.depth] {
    return make_resnet({depth, small_resnet_width, small_resnet_image, small_resnet_classes});
  };
  return network;
}

}  // namespace assay
