// Three layers: two convolutions and a classifier.

#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "models/network/graph_builder.hpp"
#include "models/network/network_benchmark.hpp"

namespace assay {
namespace {

constexpr std::int64_t channels = 8, small_image = 16, small_classes = 10;

struct ConvnetShape {
  std::int64_t image = 32, classes = 10;
};

ConvnetShape parse_convnet(const std::string& descriptor) {
  const auto fields =
      read_counts(descriptor, {"s", "c"}, {"s", "c"}, DescriptorComplaint("convnet", descriptor));
  return {fields.at("s"), fields.at("c")};
}

Network make_convnet(const ConvnetShape& shape) {
  Network network;
  network.family = "convnet";
  network.descriptor = fmt::format("s{}c{}", shape.image, shape.classes);
  network.fields = {{"image_size", shape.image}, {"classes", shape.classes}};
  network.image = shape.image;
  network.classes = shape.classes;
  network.add_layers = [shape](GraphBuilder& builder, const Learning& learning) {
    ValueIndex x = builder.images(3, shape.image);
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

NetworkDefinition define_convnet(const ConvnetShape& shape) {
  return {{{"conv1.weight", {8, 3, 3, 3}},
           {"bn1.weight", {8}},
           {"bn1.bias", {8}},
           {"conv2.weight", {8, 8, 3, 3}},
           {"bn2.weight", {8}},
           {"bn2.bias", {8}},
           {"fc.weight", {shape.classes, 8}},
           {"fc.bias", {shape.classes}}},
          {small_image, small_classes, [](ReferencePass& pass, const ReferenceNode& images) {
             ReferenceNode x = pass.relu(pass.norm("bn1", pass.conv("conv1", images, 8, 3, 2)));
             x = pass.relu(pass.norm("bn2", pass.conv("conv2", x, 8, 3, 2)));
             pass.classify("fc", pass.mean(x));
           }}};
}

class ConvnetBenchmark final : public NetworkBenchmark {
 public:
  std::string name() const override { return "convnet"; }
  std::string description() const override { return "A network that one file has added"; }
  std::string canonical(const std::string& descriptor) const override {
    const ConvnetShape shape = parse_convnet(descriptor);
    return fmt::format("s{}c{}", shape.image, shape.classes);
  }
  std::vector<Dimension> problem_dimensions() const override {
    return {dimension::problem({"s32c10"}),
            dimension::field("image_size", "s", "height and width of the images", "32"),
            dimension::field("classes", "c", "number of classes", "10")};
  }
  Network network(const std::string& problem) const override {
    return make_convnet(parse_convnet(problem));
  }
  NetworkDefinition definition(const std::string& problem) const override {
    return define_convnet(parse_convnet(problem));
  }
};

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  return assay::benchmark_main(assay::ConvnetBenchmark(), argc, argv);
}
