// The autoencoder P1B1 of CANDLE (ECP-CANDLE/Benchmarks, Pilot1): from the expression of genes over
// few features back to the same expression.
//
// Dense layers with ReLU, the last one with the sigmoid, since expression is scaled to [0, 1]. The
// loss is the mean squared error, the quality Pearson's correlation of outputs and inputs.
#include "models/candle/p1b1.hpp"

#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "models/network/graph_builder.hpp"

namespace assay {
namespace {

/// The form that a plain fp64 loop trains.
constexpr std::int64_t small_genes = 48, small_hidden = 32, small_code = 16;

struct P1b1Shape {
  std::int64_t inputs = 60483, width = 2000, code = 600;
};

P1b1Shape parse_p1b1(const std::string& descriptor) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  const DescriptorComplaint complain("candle-p1b1", descriptor);
  P1b1Shape shape;
  for (const auto& [name, value] : read_counts(descriptor, {"i", "w", "n"}, {}, complain)) {
    if (value > most) complain("{} is {}. Use at most {}.", name, value, most);
    (name == "i" ? shape.inputs : name == "w" ? shape.width : shape.code) = value;
  }
  return shape;
}

std::string p1b1_descriptor(const P1b1Shape& shape) {
  return fmt::format("i{}w{}n{}", shape.inputs, shape.width, shape.code);
}

Network make_p1b1(const P1b1Shape& shape) {
  Network network;
  network.family = "candle-p1b1";
  network.descriptor = p1b1_descriptor(shape);
  network.fields = {{"inputs", shape.inputs}, {"width", shape.width}, {"code", shape.code}};
  network.input = vector_input(shape.inputs);
  network.classes = 1;
  network.labels = Labels::none;
  network.quality = Quality::correlation;
  network.filters = false;
  network.add_layers = [shape](GraphBuilder& builder, const Learning&) {
    ValueIndex x = builder.images(vector_input(shape.inputs));
    const std::int64_t widths[] = {shape.width, shape.code, shape.width};
    for (int i = 0; i < 3; ++i)
      x = builder.dense(fmt::format("fc{}", i + 1), x, widths[i], ActivationFunction::relu,
                        DenseStart::glorot);
    builder.squared_error(
        builder.dense("out", x, shape.inputs, ActivationFunction::sigmoid, DenseStart::glorot));
  };
  network.make_small = [] { return make_p1b1({small_genes, small_hidden, small_code}); };
  return network;
}

NetworkDefinition define_p1b1(const std::string& descriptor) {
  long long inputs = 0, width = 0, code = 0;
  if (std::sscanf(descriptor.c_str(), "i%lldw%lldn%lld", &inputs, &width, &code) != 3)
    throw CaseError(descriptor + " does not describe P1B1");
  NetworkDefinition defined;
  defined.input = {{inputs, 1, 1}, 1, Labels::none};
  defined.parameters = {{"fc1.weight", {width, inputs}}, {"fc1.bias", {width}},
                        {"fc2.weight", {code, width}},   {"fc2.bias", {code}},
                        {"fc3.weight", {width, code}},   {"fc3.bias", {width}},
                        {"out.weight", {inputs, width}}, {"out.bias", {inputs}}};
  defined.glorot = true;
  defined.small = {{small_genes, 1, 1},
                   1,
                   [](ReferencePass& pass, const ReferenceNode& input) {
                     ReferenceNode x = pass.relu(pass.dense("fc1", input, small_hidden, true));
                     x = pass.relu(pass.dense("fc2", x, small_code, true));
                     x = pass.relu(pass.dense("fc3", x, small_hidden, true));
                     pass.squared_error(pass.sigmoid(pass.dense("out", x, small_genes, true)));
                   },
                   Labels::none};
  return defined;
}

}  // namespace

NetworkFamily p1b1_family() {
  return {"candle-p1b1", "CANDLE's autoencoder of inputs, width, code (i60483w2000n600)",
          [](const std::string& fields) { return p1b1_descriptor(parse_p1b1(fields)); },
          [](const std::string& fields) { return make_p1b1(parse_p1b1(fields)); }, define_p1b1};
}

}  // namespace assay
