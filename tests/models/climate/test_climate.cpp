// The work and the parameters of the networks for weather, as PyTorch counts them
// (torch.utils.flop_counter, scripts/peers/climate.py), and as the exaflop run's paper has them.

#include <gtest/gtest.h>

#include "kernels/conv/problem.hpp"
#include "models/network/definition.hpp"
#include "models/network/network_family.hpp"

namespace assay {
namespace test_climate {

struct Counts {
  const char* network;
  double forward, training;
  std::int64_t parameters;
  int convolutions;
};

void PrintTo(const Counts& counts, std::ostream* to) { *to << counts.network; }

class Climate : public testing::TestWithParam<Counts> {
 protected:
  Network network(const std::string& fields = "") const {
    const NetworkFamily& family = *find_named_network(GetParam().network).family;
    return family.network(family.canonical(fields));
  }
};

TEST_P(Climate, WorkAndParametersAreThoseOfTheLayers) {
  const Graph forward = make_inference_graph(network(), 1, Precision::fp32),
              training = make_training_graph(network(), 1, Precision::fp32, {});
  EXPECT_EQ(forward.flops(), GetParam().forward);
  EXPECT_EQ(training.flops(), GetParam().training);
  std::int64_t parameters = 0;
  for (const Parameter& parameter : training.parameters) parameters += parameter.elements();
  EXPECT_EQ(parameters, GetParam().parameters);
  int convolutions = 0;
  for (const GraphNode& node : forward.nodes)
    convolutions += node.problem->kind() == ConvProblem::kind_name ? 1 : 0;
  EXPECT_EQ(convolutions, GetParam().convolutions);
}

TEST_P(Climate, LayersAreTheDefinitions) {
  const NetworkFamily& family = *find_named_network(GetParam().network).family;
  for (const char* fields : {"", "h96w144", "h32w48c5d8", "d16r1"}) {
    const std::string all = family.canonical(fields);
    const Graph graph = make_training_graph(family.network(all), 1, Precision::fp32, {});
    EXPECT_EQ(find_fault_of_layers(graph, all, family.definition(all)), "");
  }
}

TEST_P(Climate, AnotherWindowOrParameterIsFound) {
  const NetworkFamily& family = *find_named_network(GetParam().network).family;
  const std::string all = family.canonical("d16");
  const Graph graph = make_training_graph(family.network(all), 1, Precision::fp32, {});
  const NetworkDefinition right = family.definition(all);
  ASSERT_FALSE(right.windows.empty());
  for (const auto& [layer, window] : right.windows)
    for (const DefinedWindow& other :
         {DefinedWindow{window.stride + 1, window.dilation},
          DefinedWindow{window.stride, window.dilation + 1}, DefinedWindow{.padding = 7}}) {
      NetworkDefinition wrong = right;
      wrong.windows[layer] = other;
      EXPECT_EQ(find_fault_of_layers(graph, all, wrong).find(layer + " "), 0u) << layer;
    }
  NetworkDefinition wrong = right;
  wrong.windows["logits"] = {2, 1};
  EXPECT_NE(find_fault_of_layers(graph, all, wrong), "");
  wrong = right;
  wrong.windows["none"] = {};
  EXPECT_NE(find_fault_of_layers(graph, all, wrong), "");
  wrong = right;
  wrong.parameters["logits.bias"] = {4};
  EXPECT_NE(find_fault_of_layers(graph, all, wrong), "");
}

TEST_P(Climate, TheWidthDividesTheChannels) {
  for (const Parameter& parameter :
       make_training_graph(network("h32w48c5d16"), 1, Precision::fp32, {}).parameters)
    EXPECT_LE(parameter.dims.front(), 2048 / 16);
}

// Published: 43.65 M parameters and 13.0 TFLOP a sample of DeepLab. Tiramisu's 7.43 M include a
// convolution of 528 x 528 channels behind the lowest block, which nothing reads.
INSTANTIATE_TEST_SUITE_P(
    Networks, Climate,
    testing::Values(Counts{"tiramisu", 1'259'678'269'440, 3'745'060'945'920, 7'148'195, 35},
                    Counts{"deeplab", 4'341'407'678'464, 12'985'719'324'672, 43'649'027, 70},
                    Counts{"deepcam", 4'341'407'678'464, 12'985'719'324'672, 43'701'091, 70}));

}  // namespace test_climate
}  // namespace assay
