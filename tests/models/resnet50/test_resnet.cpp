// The graph of a residual network.

#include "models/resnet50/resnet.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/base/error.hpp"

namespace assay {
namespace test_resnet {

TEST(Resnet, DescriptorsAreReadAndWritten) {
  EXPECT_EQ(to_descriptor(parse_resnet("")), "d50w64s224c1000");
  EXPECT_EQ(to_descriptor(parse_resnet("c10d18s32")), "d18w64s32c10");
  for (const char* wrong : {"d34", "d18d18", "x5", "w0", "s-1", "w100000", "d18w8s32c10 "})
    EXPECT_THROW(parse_resnet(wrong), InputError) << wrong;
}

TEST(Resnet, HasTheParametersOfTheKnownNetwork) {
  const Graph graph = make_training_graph(make_resnet({}), 1, Precision::fp32, {});
  EXPECT_EQ(graph.parameters.size(), 161U);
  std::int64_t elements = 0, decaying = 0;
  std::set<std::string> names;
  for (const Parameter& parameter : graph.parameters) {
    elements += parameter.elements();
    decaying += parameter.decays ? 1 : 0;
    names.insert(parameter.name);
  }
  EXPECT_EQ(elements, 25557032);
  EXPECT_EQ(decaying, 54);  // 53 convolutions and the last layer
  EXPECT_EQ(names.size(), 161U);
  for (const char* name : {"conv1.weight", "bn1.bias", "layer1.0.downsample.0.weight",
                           "layer3.5.conv3.weight", "layer4.2.bn3.bias", "fc.weight", "fc.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(graph.statistics.size(), 53U);
  EXPECT_EQ(make_training_graph(make_resnet({18, 64, 224, 1000}), 1, Precision::fp32, {})
                .parameters.size(),
            62U);
}

/// 4.09 G multiply-adds are ResNet-50 v1.5's common count, which leaves out nothing but
/// normalization, rectifiers and pooling.
TEST(Resnet, CountsTheKnownWork) {
  const double forward = make_inference_graph(make_resnet({}), 1, Precision::fp32).flops();
  EXPECT_NEAR(forward, 2 * 4.09e9, 2 * 0.01e9);
  // No gradient of the images.
  const double first = 2.0 * 64 * 3 * 49 * 112 * 112;
  EXPECT_DOUBLE_EQ(make_training_graph(make_resnet({}), 1, Precision::fp32, {}).flops(),
                   3 * forward - first);
}

TEST(Resnet, PartsLieSideBySideOnCacheLines) {
  const Graph graph = make_training_graph(make_resnet({18, 5, 33, 7}), 2, Precision::fp32, {});
  std::int64_t at = 0;
  for (std::size_t i = graph.parameters.size(); i-- > 0;) {
    const Parameter& of = graph.parameters[i];
    EXPECT_EQ(of.offset, at) << of.name;
    EXPECT_EQ(graph.value(of.value).offset, at);
    EXPECT_EQ(graph.value(of.gradient).offset, at);
    EXPECT_EQ(at % 32, 0);
    at += (of.elements() + 31) / 32 * 32;
  }
  EXPECT_EQ(graph.elements(graph.weights), at);
  EXPECT_EQ(graph.elements(graph.gradients), at);
}

/// Every value is written before it is read, and every gradient of a parameter is made once.
TEST(Resnet, NodesComeInAnOrderThatCanRun) {
  for (const ResnetShape& shape : {ResnetShape{18, 8, 32, 10}, ResnetShape{50, 4, 64, 3}}) {
    const Graph graph = make_training_graph(make_resnet(shape), 2, Precision::fp32, {});
    std::set<ValueIndex> written{graph.images,  graph.labels,  graph.loss_scale, graph.rate,
                                 graph.unscale, graph.weights, graph.velocity,   graph.gradients};
    for (const Parameter& parameter : graph.parameters) written.insert(parameter.value);
    std::multiset<ValueIndex> made;
    Phase phase = Phase::forward;
    for (const GraphNode& node : graph.nodes) {
      EXPECT_GE(static_cast<int>(node.phase), static_cast<int>(phase)) << node.text();
      phase = node.phase;
      // A tensor that is read and written has its value in both sets.
      std::set<ValueIndex> outputs;
      for (const auto& [name, value] : node.tensors) {
        const bool output =
            name == "dst" || name == "c" || name.starts_with("diff_") || name == "losses" ||
            name == "correct" || name == "norms" || name == "counts" ||
            ((name == "mean" || name == "variance") && node.phase == Phase::forward);
        const bool reads_gradient =
            name == "diff_dst" || (name == "dst" && node.direction == "backward");
        if (output && !reads_gradient)
          outputs.insert(value);
        else
          EXPECT_TRUE(written.contains(value)) << node.text() << " reads " << name;
      }
      for (const ValueIndex value : outputs) {
        made.insert(value);
        written.insert(value);
      }
    }
    for (const Parameter& parameter : graph.parameters)
      EXPECT_EQ(made.count(parameter.gradient), 1U) << parameter.name;
  }
}

}  // namespace test_resnet
}  // namespace assay
