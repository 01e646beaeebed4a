// The networks of CANDLE: P1B1 (p1b1.cpp), and the classifier P1B2 (ECP-CANDLE/Benchmarks, Pilot1):
// from counts of mutations to the type of a tumour.
//
// Dense layers with the sigmoid, including the last one, as in the original. Its loss, Keras's
// categorical cross-entropy, divides the outputs of a sample by their sum:
//   -ln(s_y / sum_c s_c), s = sigmoid(z),
// which is softmax cross-entropy of ln s, since exp(ln s) = s.
#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "models/candle/p1b1.hpp"
#include "models/network/graph_builder.hpp"
#include "models/network/network_family.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 24;
/// The form that a plain fp64 loop trains.
constexpr std::int64_t small_inputs = 48, small_width = 32, small_classes = 10;

struct P1b2Shape {
  std::int64_t inputs = 28204, width = 1024, classes = 10;
};

P1b2Shape parse_p1b2(const std::string& descriptor) {
  const DescriptorComplaint complain("candle-p1b2", descriptor);
  P1b2Shape shape;
  for (const auto& [name, value] : read_counts(descriptor, {"i", "w", "c"}, {}, complain)) {
    if (value > most_elements) complain("{} is {}. Use at most {}.", name, value, most_elements);
    (name == "i" ? shape.inputs : name == "w" ? shape.width : shape.classes) = value;
  }
  if (shape.width % 4 != 0) complain("w is {}. Use a multiple of 4.", shape.width);
  return shape;
}

Network make_p1b2(const P1b2Shape& shape) {
  Network network;
  network.family = "candle-p1b2";
  network.descriptor = fmt::format("i{}w{}c{}", shape.inputs, shape.width, shape.classes);
  network.fields = {{"inputs", shape.inputs}, {"width", shape.width}, {"classes", shape.classes}};
  network.input = vector_input(shape.inputs);
  network.classes = shape.classes;
  network.filters = false;
  network.add_layers = [shape](GraphBuilder& builder, const Learning& learning) {
    ValueIndex x = builder.images(vector_input(shape.inputs));
    for (const int i : {1, 2, 3})
      x = builder.dense(fmt::format("fc{}", i), x, shape.width >> (i - 1),
                        ActivationFunction::sigmoid, DenseStart::glorot);
    builder.cross_entropy(
        builder.dense("out", x, shape.classes, ActivationFunction::log_sigmoid, DenseStart::glorot),
        learning.smoothing);
  };
  network.make_small = [] { return make_p1b2({small_inputs, small_width, small_classes}); };
  return network;
}

NetworkDefinition define_p1b2(const std::string& descriptor) {
  long long inputs = 0, width = 0, classes = 0;
  if (std::sscanf(descriptor.c_str(), "i%lldw%lldc%lld", &inputs, &width, &classes) != 3)
    throw CaseError(descriptor + " does not describe P1B2");
  NetworkDefinition defined;
  defined.input = {{inputs, 1, 1}, classes};
  defined.parameters = {{"fc1.weight", {width, inputs}},        {"fc1.bias", {width}},
                        {"fc2.weight", {width / 2, width}},     {"fc2.bias", {width / 2}},
                        {"fc3.weight", {width / 4, width / 2}}, {"fc3.bias", {width / 4}},
                        {"out.weight", {classes, width / 4}},   {"out.bias", {classes}}};
  defined.glorot = true;
  defined.small = {
      {small_inputs, 1, 1}, small_classes, [](ReferencePass& pass, const ReferenceNode& input) {
        ReferenceNode x = pass.sigmoid(pass.dense("fc1", input, small_width, true));
        x = pass.sigmoid(pass.dense("fc2", x, small_width / 2, true));
        x = pass.sigmoid(pass.dense("fc3", x, small_width / 4, true));
        x = pass.dense("out", x, small_classes, true);
        pass.cross_entropy(pass.log_sigmoid(x));
      }};
  return defined;
}

}  // namespace

std::vector<NetworkFamily> candle_networks() {
  return {p1b1_family(),
          {"candle-p1b2", "CANDLE's classifier of inputs, width, classes (i28204w1024c10)",
           [](const std::string& fields) {
             const P1b2Shape shape = parse_p1b2(fields);
             return fmt::format("i{}w{}c{}", shape.inputs, shape.width, shape.classes);
           },
           [](const std::string& fields) { return make_p1b2(parse_p1b2(fields)); }, define_p1b2}};
}

}  // namespace assay
