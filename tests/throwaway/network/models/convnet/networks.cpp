// Three layers: two convolutions and a classifier.

#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "models/network/graph_builder.hpp"
#include "models/network/network_family.hpp"

namespace assay {
namespace {

constexpr std::int64_t channels = 8, small_image = 16, small_classes = 10;

struct ConvnetShape {
  std::int64_t image = 32, classes = 10;
};

ConvnetShape parse_convnet(const std::string& descriptor) {
  const auto fields =
      read_counts(descriptor, {"s", "c"}, {}, DescriptorComplaint("convnet", descriptor));
  ConvnetShape shape;
  if (fields.contains("s")) shape.image = fields.at("s");
  if (fields.contains("c")) shape.classes = fields.at("c");
  return shape;
}

Network make_convnet(const ConvnetShape& shape) {
  Network network;
  network.family = "convnet";
  network.descriptor = fmt::format("s{}c{}", shape.image, shape.classes);
  network.fields = {{"image_size", shape.image}, {"classes", shape.classes}};
  network.input = photograph(shape.image);
  network.classes = shape.classes;
  network.add_layers = [shape](GraphBuilder& builder, const Learning& learning) {
    ValueIndex x = builder.images(photograph(shape.image));
    std::int64_t side = shape.image;
    for (const char* number : {"1", "2"}) {
      x = builder.conv(std::string("conv") + number, x, channels, 3, 2, 1);
      x = builder.norm(std::string("bn") + number, x, NormFusion::relu);
      side = (side + 1) / 2;
    }
    x = builder.pool("avgpool", x, PoolMode::average, side, 1, 0);
    builder.classify("fc", x, shape.classes, learning.smoothing);
  };
  network.make_small = [] { return make_convnet({small_image, small_classes}); };
  return network;
}

NetworkDefinition define_convnet(const std::string& descriptor) {
  long long side = 0, classes = 0;
  if (std::sscanf(descriptor.c_str(), "s%lldc%lld", &side, &classes) != 2)
    throw CaseError(descriptor + " is no convnet");
  return {.input = {photograph(side), classes},
          .parameters = {{"conv1.weight", {8, 3, 3, 3}},
                         {"bn1.weight", {8}},
                         {"bn1.bias", {8}},
                         {"conv2.weight", {8, 8, 3, 3}},
                         {"bn2.weight", {8}},
                         {"bn2.bias", {8}},
                         {"fc.weight", {classes, 8}},
                         {"fc.bias", {classes}}},
          .small = {photograph(small_image), small_classes,
                    [](ReferencePass& pass, const ReferenceNode& images) {
                      ReferenceNode x =
                          pass.relu(pass.norm("bn1", pass.conv("conv1", images, 8, 3, 2)));
                      x = pass.relu(pass.norm("bn2", pass.conv("conv2", x, 8, 3, 2)));
                      pass.cross_entropy(pass.dense("fc", pass.mean(x), small_classes));
                    }},
          .windows = {{"conv1", {.stride = 2}}, {"conv2", {.stride = 2}}}};
}

}  // namespace

std::vector<NetworkFamily> convnet_networks() {
  return {{"convnet", "a network that one file has added: image size, classes (s32c10)",
           [](const std::string& fields) {
             const ConvnetShape shape = parse_convnet(fields);
             return fmt::format("s{}c{}", shape.image, shape.classes);
           },
           [](const std::string& fields) { return make_convnet(parse_convnet(fields)); },
           define_convnet}};
}

}  // namespace assay
