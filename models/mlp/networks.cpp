// Perceptrons: dense layers with ReLU, on vectors, and dropout after each of them.
#include <fmt/format.h>

#include "core/base/descriptor.hpp"
#include "core/base/error.hpp"
#include "models/network/graph_builder.hpp"
#include "models/network/network_family.hpp"

namespace assay {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 24, most_layers = 64, most_percent = 99;
/// The form that a plain fp64 loop trains.
constexpr std::int64_t small_inputs = 48, small_width = 16, small_classes = 10;

struct MlpShape {
  std::int64_t inputs = 1024, width = 512, layers = 2, classes = 10;
  std::int64_t percent = 0;  ///< percentage of the numbers between layers that dropout drops
};

/// The last field, which a network without dropout does not have.
std::string of_dropout(const MlpShape& shape) {
  return shape.percent > 0 ? fmt::format("p{}", shape.percent) : "";
}

MlpShape parse_mlp(const std::string& descriptor) {
  const DescriptorComplaint complain("mlp", descriptor);
  const auto fields = read_counts(descriptor, {"i", "w", "l", "c", "p"}, {}, complain, {"p"});
  MlpShape shape;
  for (const auto& [name, value, most] :
       {std::tuple{"i", &shape.inputs, most_elements}, std::tuple{"w", &shape.width, most_elements},
        std::tuple{"l", &shape.layers, most_layers}, std::tuple{"c", &shape.classes, most_elements},
        std::tuple{"p", &shape.percent, most_percent}})
    if (const auto entry = fields.find(name); entry != fields.end()) {
      if (entry->second > most) complain("{} is {}. Use at most {}.", name, entry->second, most);
      *value = entry->second;
    }
  return shape;
}

std::string to_descriptor(const MlpShape& shape) {
  return fmt::format("i{}w{}l{}c{}", shape.inputs, shape.width, shape.layers, shape.classes) +
         of_dropout(shape);
}

Network make_mlp(const MlpShape& shape) {
  Network network;
  network.family = "mlp";
  network.descriptor =  // not by to_descriptor(): expect_network() compares two sources
      fmt::format("i{}w{}l{}c{}", shape.inputs, shape.width, shape.layers, shape.classes) +
      of_dropout(shape);
  network.fields = {{"inputs", shape.inputs},
                    {"width", shape.width},
                    {"layers", shape.layers},
                    {"classes", shape.classes}};
  if (shape.percent > 0) network.fields["dropped"] = shape.percent;
  network.input = vector_input(shape.inputs);
  network.classes = shape.classes;
  network.filters = false;
  network.add_layers = [shape](GraphBuilder& builder, const Learning& learning) {
    ValueIndex x = builder.images(vector_input(shape.inputs));
    for (std::int64_t i = 1; i <= shape.layers; ++i) {
      x = builder.dense(fmt::format("fc{}", i), x, shape.width, ActivationFunction::relu);
      x = builder.dropout(fmt::format("drop{}", i), x, static_cast<double>(shape.percent) / 100);
    }
    builder.classify("out", x, shape.classes, learning.smoothing);
  };
  network.make_small = [layers = shape.layers, percent = shape.percent] {
    return make_mlp({small_inputs, small_width, layers, small_classes, percent});
  };
  return network;
}

NetworkDefinition define_mlp(const std::string& descriptor) {
  long long inputs = 0, width = 0, layers = 0, classes = 0, percent = 0;
  if (std::sscanf(descriptor.c_str(), "i%lldw%lldl%lldc%lldp%lld", &inputs, &width, &layers,
                  &classes, &percent) < 4)
    throw CaseError(descriptor + " does not describe a perceptron");
  NetworkDefinition defined;
  defined.input = {{inputs, 1, 1}, classes};
  const auto add = [&](const std::string& layer, std::int64_t from, std::int64_t to) {
    defined.parameters[layer + ".weight"] = {to, from};
    defined.parameters[layer + ".bias"] = {to};
  };
  for (long long i = 0; i < layers; ++i)
    add("fc" + std::to_string(i + 1), i == 0 ? inputs : width, width);
  add("out", width, classes);
  defined.small = {{small_inputs, 1, 1},
                   small_classes,
                   [layers, percent](ReferencePass& pass, const ReferenceNode& input) {
                     ReferenceNode x = input;
                     for (long long i = 0; i < layers; ++i) {
                       const std::string number = std::to_string(i + 1);
                       x = pass.relu(pass.dense("fc" + number, x, small_width));
                       if (percent > 0)
                         x = pass.dropout("drop" + number, x, static_cast<double>(percent) / 100);
                     }
                     pass.cross_entropy(pass.dense("out", x, small_classes));
                   }};
  return defined;
}

}  // namespace

std::vector<NetworkFamily> mlp_networks() {
  return {{"mlp",
           "perceptron of inputs, width, hidden layers, classes, % of dropout (i1024w512l2c10p20)",
           [](const std::string& fields) { return to_descriptor(parse_mlp(fields)); },
           [](const std::string& fields) { return make_mlp(parse_mlp(fields)); }, define_mlp}};
}

}  // namespace assay
