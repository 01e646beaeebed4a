// The work and the parameters of the networks for weather, as PyTorch counts them
// (torch.utils.flop_counter, scripts/peers/climate.py), and as the exaflop run's paper has them.

#include <gtest/gtest.h>

#include "kernels/conv/problem.hpp"
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
    const NetworkFamily& family = *named_network(GetParam().network).family;
    return family.network(family.canonical(fields));
  }
};

TEST_P(Climate, WorkAndParametersAreThoseOfTheLayers) {
  const Graph forward = inference_graph(network(), 1, Precision::fp32),
              training = training_graph(network(), 1, Precision::fp32, {});
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

TEST_P(Climate, ParametersAreTheDefinitions) {
  const NetworkFamily& family = *named_network(GetParam().network).family;
  for (const char* fields : {"", "h96w144", "h32w48c5d8", "d16r1"}) {
    const std::string all = family.canonical(fields);
    const NetworkDefinition defined = family.definition(all);
    const Graph graph = training_graph(family.network(all), 1, Precision::fp32, {});
    EXPECT_EQ(graph.parameters.size(), defined.parameters.size());
    for (const Parameter& parameter : graph.parameters) {
      const auto entry = defined.parameters.find(parameter.name);
      ASSERT_NE(entry, defined.parameters.end()) << parameter.name;
      EXPECT_EQ(entry->second, parameter.dims) << parameter.name;
    }
  }
}

TEST_P(Climate, TheWidthDividesTheChannels) {
  for (const Parameter& parameter :
       training_graph(network("h32w48c5d16"), 1, Precision::fp32, {}).parameters)
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
