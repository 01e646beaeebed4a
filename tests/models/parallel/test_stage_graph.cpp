// Stages of networks: where they can be cut, and that together they compute the same.

#include "models/parallel/stage_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_stage_graph {

using network_test::plugins;

const MaskSeed masks{7, 0};

Graph pass_of(const Network& network, Precision precision = Precision::fp32,
              std::int64_t batch = 2) {
  return make_gradient_graph(network, batch, precision, {}, masks);
}

std::vector<Stage> stages_of(const Graph& pass, int count, bool accumulates = true) {
  auto cuts = balance_cuts(pass, count);
  if (const auto* const refusal = std::get_if<Unsupported>(&cuts))
    throw std::runtime_error(refusal->reason);
  return stages_between(pass, std::get<std::vector<StageCut>>(cuts), {}, accumulates);
}

Network named(const std::string& text) {
  const NamedNetwork found = find_named_network(text);
  return found.family->network(found.family->canonical(found.fields));
}

TEST(StageGraph, CutsOfAChainAreBetweenAllItsLayers) {
  // Three dense layers, each a product and its function; behind the last product only the loss.
  const Graph pass = pass_of(named("mlp:i64w32l2c10"));
  const std::vector<StageCut> cuts = stage_cuts(pass);
  ASSERT_EQ(cuts.size(), 4U);
  for (const StageCut& cut : cuts) {
    EXPECT_EQ(pass.value(cut.gradient).dims, pass.value(cut.activation).dims);
    EXPECT_EQ("grad " + pass.value(cut.activation).name, pass.value(cut.gradient).name);
  }
}

TEST(StageGraph, NoCutIsWithinAResidualBlock) {
  const Graph pass = pass_of(make_resnet({18, 8, 32, 10}));
  std::set<std::string> after;
  for (const StageCut& cut : stage_cuts(pass)) {
    after.insert(pass.nodes[cut.forward].layer);
    EXPECT_EQ(pass.elements(cut.gradient), pass.elements(cut.activation));
  }
  for (const char* const end : {"conv1", "bn1", "maxpool", "layer1.0.bn2", "layer4.1.bn2"})
    EXPECT_TRUE(after.contains(end)) << end;
  for (const char* const inside : {"layer1.0.conv1", "layer2.0.bn1", "layer2.0.downsample.0", "fc"})
    EXPECT_FALSE(after.contains(inside)) << inside;
}

TEST(StageGraph, StagesDivideNodesParametersAndFlops) {
  for (const char* const name : {"mlp:i64w32l6c10p20", "candle-p1b2:i64w64c10",
                                 "candle-p1b1:i64w32n8", "deeplab:h32w32c4d8", "resnet18:w8s32c10"})
    for (const int count : {2, 3}) {
      const Graph pass = pass_of(named(name));
      const std::vector<Stage> stages = stages_of(pass, count);
      ASSERT_EQ(stages.size(), static_cast<std::size_t>(count));
      std::size_t nodes = 0, statistics = 0;
      std::multiset<std::string> parameters, whole;
      double flops = 0;
      for (const Stage& stage : stages) {
        for (const GraphNode& node : stage.graph.nodes)
          if (node.phase == Phase::forward || node.phase == Phase::backward) ++nodes;
        for (const Parameter& parameter : stage.graph.parameters) parameters.insert(parameter.name);
        statistics += stage.graph.statistics.size();
        flops += stage.flops;
        EXPECT_EQ(stage.input == Graph::none, &stage == &stages.front());
        EXPECT_EQ(stage.output == Graph::none, &stage == &stages.back());
        EXPECT_EQ(stage.graph.losses != Graph::none, &stage == &stages.back());
      }
      for (const Parameter& parameter : pass.parameters) whole.insert(parameter.name);
      EXPECT_EQ(nodes, pass.nodes.size()) << name;
      EXPECT_EQ(parameters, whole) << name;
      EXPECT_EQ(statistics, pass.statistics.size()) << name;
      EXPECT_DOUBLE_EQ(flops, pass.flops()) << name;
    }
}

TEST(StageGraph, LargestStageIsTheSmallestThatPlacesAllow) {
  const Graph pass = pass_of(make_resnet({18, 8, 32, 10}));
  const std::vector<StageCut> cuts = stage_cuts(pass);
  double least = pass.flops();
  for (const StageCut& cut : cuts)
    if (cut.parameters > 0 && cut.parameters < pass.parameters.size())
      least = std::min(least, std::max(cut.flops, pass.flops() - cut.flops));
  const std::vector<Stage> stages = stages_of(pass, 2);
  EXPECT_DOUBLE_EQ(std::max(stages[0].flops, stages[1].flops), least);
}

TEST(StageGraph, TooManyStagesAreRefusedByTheNumberOfPlaces) {
  const auto cuts = balance_cuts(pass_of(named("mlp:i64w32l2c10")), 9);
  ASSERT_TRUE(std::holds_alternative<Unsupported>(cuts));
  EXPECT_NE(std::get<Unsupported>(cuts).reason.find("only 4 places"), std::string::npos);
}

std::unique_ptr<Executor> executor_of(Graph graph) {
  static const auto alone = make_serial_communicator();
  ExecutorSettings settings;
  settings.backends = {"native", "onednn", "blas", "reference"};
  auto made = Executor::make(std::move(graph), settings, plugins(), *alone);
  if (const auto* const refusal = std::get_if<Unsupported>(&made))
    throw std::runtime_error(refusal->reason);
  return std::move(std::get<std::unique_ptr<Executor>>(made));
}

/// All gradients by the name of their parameter.
std::map<std::string, std::vector<double>> gradients_of(const Executor& executor) {
  std::map<std::string, std::vector<double>> all;
  for (const Parameter& parameter : executor.graph().parameters)
    all[parameter.name] = read_values(executor, parameter.gradient);
  return all;
}

void carry(const Executor& from, ValueIndex value, const Executor& to, ValueIndex into) {
  const GraphValue& of = from.graph().value(value);
  ASSERT_EQ(of.type, to.graph().value(into).type);
  to.device().copy(to.memory(into).get(), from.memory(value).get(),
                   static_cast<std::size_t>(from.graph().elements(value)) * size_of(of.type));
}

void expect_same_gradients(const Network& network, Precision precision, int count) {
  const Graph pass = pass_of(network, precision, 4);
  const auto whole = executor_of(pass);
  put_initial(*whole, 3);
  load_random(*whole, 5);
  for (const ValueIndex value : {pass.loss_scale, pass.passes})
    if (value != Graph::none) whole->device().fill(whole->tensor(value), 1);
  whole->run(Phase::forward);
  whole->run(Phase::backward);

  const std::vector<Stage> stages = stages_of(pass, count);
  std::vector<std::unique_ptr<Executor>> parts;
  for (const Stage& stage : stages) {
    parts.push_back(executor_of(stage.graph));
    Executor& part = *parts.back();
    put_initial(part, 3);
    part.poison();
    for (ValueIndex Graph::*const data : {&Graph::images, &Graph::labels})
      if (stage.graph.*data != Graph::none) carry(*whole, pass.*data, part, stage.graph.*data);
    for (const ValueIndex value : {stage.graph.loss_scale, stage.graph.passes})
      if (value != Graph::none) part.device().fill(part.tensor(value), 1);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i > 0) carry(*parts[i - 1], stages[i - 1].output, *parts[i], stages[i].input);
    parts[i]->run(Phase::forward);
  }
  for (std::size_t i = stages.size(); i-- > 0;) {
    if (i + 1 < stages.size())
      carry(*parts[i + 1], stages[i + 1].input_gradient, *parts[i], stages[i].output_gradient);
    parts[i]->run(Phase::backward);
  }
  std::map<std::string, std::vector<double>> of_stages;
  for (const auto& part : parts) of_stages.merge(gradients_of(*part));
  EXPECT_EQ(of_stages, gradients_of(*whole));
}

TEST(StageGraph, StagesHaveTheGradientsOfTheWholeBitForBit) {
  for (const char* const name : {"mlp:i64w32l6c10p20", "candle-p1b2:i64w64c10",
                                 "candle-p1b1:i64w32n8", "deeplab:h32w32c4d8", "resnet18:w8s32c10"})
    for (const Precision precision : {Precision::fp32, Precision::bf16})
      for (const int count : {2, 4}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(count));
        if (std::string(name).starts_with("candle") && count == 4) continue;  // too few layers
        expect_same_gradients(named(name), precision, count);
      }
}

}  // namespace test_stage_graph
}  // namespace assay
