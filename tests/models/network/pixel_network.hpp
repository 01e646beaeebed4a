#pragma once
// The smallest network for labels of pixels, one convolution, as a benchmark: by a GraphBuilder,
// and by its definition.

#include <cmath>
#include <string>
#include <vector>

#include "models/network/graph_builder.hpp"
#include "models/network/network_benchmark.hpp"
#include "models/network/pixel_classes.hpp"

namespace assay::network_test {

/// The faults of a faulty network.
struct PixelFaults {
  bool next_weight = false;  ///< each class has the weight of the next one
};

struct PixelShape {
  InputShape input{4, 32, 48};
  double power = -0.5;  ///< of the frequencies of generated fields
  double factor = 0.1;
};
inline constexpr InputShape small_pixels{4, 8, 10};

/// About those of LearnableFields.
inline std::vector<double> frequencies_of_fields() { return {0.95, 0.015, 0.035}; }

inline Network pixel_network(const PixelShape& shape = {}, const PixelFaults& faults = {}) {
  Network network;
  network.family = "pixels";
  network.descriptor = "c3";
  network.input = shape.input;
  network.classes = 3;
  network.labels = Labels::per_pixel;
  network.quality = Quality::iou;
  network.add_layers = [=](GraphBuilder& to, const Learning&) {
    std::vector<double> weights = class_weights(frequencies_of_fields(), shape.power);
    if (faults.next_weight) weights = {weights[1], weights[2], weights[0]};
    to.pixel_cross_entropy(
        to.conv_biased("conv", to.images(shape.input), 3, 3, {.padding = 1, .start = 0.5},
                       ActivationFunction::identity),
        weights, shape.factor);
  };
  // The rate of self-checks is for means.
  network.make_small = [=] {
    return pixel_network({small_pixels, shape.power, 1.0 / small_pixels.pixels()}, faults);
  };
  return network;
}

inline NetworkDefinition pixel_definition(const PixelShape& shape = {}) {
  std::vector<double> weights;
  for (const double frequency : {0.95, 0.015, 0.035})
    weights.push_back(1 / std::pow(frequency, -shape.power));
  NetworkDefinition defined;
  defined.input = {shape.input, 3, Labels::per_pixel, weights};
  for (double& factor : defined.input.class_factors) factor *= shape.factor;
  defined.parameters = {{"conv.weight", {3, shape.input.channels, 3, 3}}, {"conv.bias", {3}}};
  defined.bounds = {
      {"conv.weight", std::sqrt(6 / static_cast<double>(shape.input.channels * 9)) / 2}};
  defined.small = {small_pixels, 3,
                   [weights](ReferencePass& pass, const ReferenceNode& images) {
                     pass.pixel_cross_entropy(pass.conv("conv", images, 3, 3, 1, 1, true, 0.5),
                                              weights, 1.0 / 80);
                   },
                   Labels::per_pixel};
  return defined;
}

class PixelBenchmark final : public NetworkBenchmark {
 public:
  explicit PixelBenchmark(PixelShape shape = {}, PixelFaults faults = {})
      : shape_(shape), faults_(faults) {}
  std::string name() const override { return "pixels"; }
  std::string description() const override { return "A convolution."; }
  std::string canonical(const std::string& descriptor) const override { return descriptor; }
  std::vector<Dimension> problem_dimensions() const override {
    return {dimension::problem({"c3"})};
  }
  Network network(const std::string&) const override { return pixel_network(shape_, faults_); }
  NetworkDefinition definition(const std::string&) const override {
    return pixel_definition(shape_);
  }

 private:
  PixelShape shape_;
  PixelFaults faults_;
};

}  // namespace assay::network_test
