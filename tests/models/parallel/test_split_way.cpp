// Layers divided among threads that play ranks: steps are right, and sums without a term show.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/forwarding.hpp"
#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/split_graph.hpp"
#include "models/parallel/split_plan.hpp"
#include "models/ranks.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/trainers.hpp"
#include "tests/models/parallel/way_session.hpp"

namespace assay {
namespace test_split_way {

using network_test::difference;
using network_test::plugins;

Network network_of(const std::string& name) {
  const NamedNetwork named = find_named_network(name);
  return named.family->network(named.family->canonical(named.fields));
}

TrainingRun run_of(const std::string& network, const std::string& way, std::int64_t passes = 2,
                   Precision precision = Precision::fp32) {
  TrainingRun run;
  run.trainer = network_test::small_settings(precision == Precision::fp64 ? "reference" : "native");
  if (precision == Precision::fp64) run.trainer.executor.backends = {"reference"};
  run.trainer.network = network_of(network);
  run.trainer.executor.threads = 1;
  run.trainer.accumulate = passes;
  run.trainer.precision = precision;
  run.parallel = parse_parallel(way);
  run.data.classes = run.trainer.network.classes;
  run.data.input = run.trainer.network.input;
  run.data.labels = run.trainer.network.labels;
  return run;
}

/// A rank's term is missing in one sum.
class LosesATerm final : public ForwardingCommunicator {
 public:
  LosesATerm(Communicator& under, int which) : ForwardingCommunicator(under), left_(which) {}
  void arm() { armed_ = true; }
  void run(const Call& call, Stream& stream) override {
    const bool of_layer = call.what == Collective::allreduce && call.send.type == DataType::fp32;
    if (armed_ && of_layer && --left_ == 0 && rank() == 1)
      std::fill_n(static_cast<std::byte*>(call.send.data), call.send.bytes(), std::byte{0});
    under().run(call, stream);
  }

 private:
  bool armed_ = false;
  int left_;
};

/// The gradients of one of two groups are missing in all their sums.
class LosesAGroup final : public ForwardingCommunicator {
 public:
  explicit LosesAGroup(Communicator& under) : ForwardingCommunicator(under) {}
  LosesAGroup(std::unique_ptr<Communicator> under, bool loses)
      : ForwardingCommunicator(*under), owned_(std::move(under)), loses_(loses) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<LosesAGroup>(under().split(color, key), splits_++ == 1);
  }
  void run(const Call& call, Stream& stream) override {
    const bool of_layer = call.what == Collective::allreduce && call.send.type == DataType::fp32;
    if (loses_ && of_layer && rank() == 1)
      std::fill_n(static_cast<std::byte*>(call.send.data), call.send.bytes(), std::byte{0});
    under().run(call, stream);
  }

 private:
  std::unique_ptr<Communicator> owned_;
  bool loses_ = false;
  int splits_ = 0;
};

struct Split : network_test::WaySession {
  Split(TrainingRun settings, Communicator& ranks)
      : WaySession(std::move(settings), ranks, &make_split_way) {}
  std::vector<double> weights() {
    way->gather();
    return read_values(whole->executor(), whole->graph().weights);
  }
};

/// The same steps on one rank, which accumulates the passes of all groups.
std::vector<double> undivided_weights(TrainingRun run, int ranks, std::int64_t steps) {
  run.trainer.accumulate *= replicas(run.parallel, ranks);
  const auto alone = make_serial_communicator();
  const auto plain = network_test::made(run.trainer, *alone);
  const auto passes = static_cast<int>(run.trainer.accumulate);
  for (std::int64_t step = 0; step < steps; ++step) {
    int next = 0;
    const auto load = [&] {
      OrderedBatches source(run, *alone, next++, passes);
      const Batch& batch = source.at(0, step);
      plain->load(batch.images, batch.labels);
    };
    load();
    plain->step(0.01, nullptr, load);
  }
  return read_values(plain->executor(), plain->graph().weights);
}

void expect_right(const TrainingRun& run, int count, double tolerance) {
  const std::vector<double> expected = undivided_weights(run, count, 4);
  const auto groups = static_cast<double>(replicas(run.parallel, count));
  testing_fakes::on_threads(count, [&](Communicator& ranks) {
    Split split(run, ranks);
    split.make(0, 2, false);
    for (std::int64_t step = 2; step < 4; ++step) {
      split.way->poison();
      const StepTotals made = split.make(step, 1, true);
      double sums[] = {made.images, made.flops, made.batches};
      RankCalls(ranks).sum(sums);
      const auto passes = groups * static_cast<double>(run.trainer.accumulate);
      EXPECT_EQ(sums[0], passes * static_cast<double>(run.trainer.batch));
      EXPECT_EQ(sums[2], passes);
      double flops = 0;
      for (const GraphNode& node : split.whole->graph().nodes)
        flops += node.problem->flops() *
                 (node.phase == Phase::update || node.phase == Phase::accumulate ? 0 : passes);
      EXPECT_GE(sums[1] * (1 + 1e-9), flops);
      const Verification found = split.judge();
      EXPECT_TRUE(found.passed) << found.reason;
      EXPECT_GT(found.checked, 100);
    }
    EXPECT_LT(difference(split.weights(), expected), tolerance);
    const auto metrics = split.way->metrics();
    EXPECT_GT(metrics.at("summed_bytes").value, 0);
    const double divided = metrics.at("divided_flops_share").value;
    EXPECT_GT(divided, 0.1);
    EXPECT_NEAR(metrics.at("rank_flops_share").value,
                1 - divided + divided / static_cast<double>(run.parallel.number), 1e-9);
    EXPECT_GT(metrics.at("sums_predicted_s").value, 0);
  });
}

TEST(SplitWay, StepsAreThoseOfUndividedLayers) {
  for (const char* const network :
       {"mlp:i64w32l2c10", "mlp:i64w32l3c10", "candle-p1b1:i64w32n8", "candle-p1b2:i64w32c10"})
    for (const int count : {2, 4}) {
      SCOPED_TRACE(std::string(network) + " " + std::to_string(count));
      expect_right(run_of(network, "split:" + std::to_string(count)), count, 1e-5);
    }
  expect_right(run_of("mlp:i64w32l3c10", "split:2", 1, Precision::bf16), 2, 0.02);
}

/// Rectifiers make the weights of two trainings in fp32 differ soon.
TEST(SplitWay, StepsAreThoseOfUndividedConvolutions) {
  expect_right(run_of("resnet18:w4s32c10", "split:2", 1, Precision::fp64), 2, 1e-6);
  expect_right(run_of("resnet18:w4s32c10", "split:4", 2, Precision::fp64), 4, 1e-6);
  for (const char* const network : {"resnet18:w8s32c10", "resnet50:w8s32c10"})
    for (const Precision precision : {Precision::fp32, Precision::bf16})
      expect_right(run_of(network, "split:4", 1, precision), 4, 10);
}

TEST(SplitWay, GroupsHaveTheStepsOfOneRankWithAllSamples) {
  for (const std::int64_t passes : {1, 2}) {
    expect_right(run_of("mlp:i64w32l3c10", "split:2*sync", passes), 4, 1e-5);
    expect_right(run_of("resnet18:w4s32c10", "split:2*sync", passes, Precision::fp64), 4, 1e-6);
  }
}

TEST(SplitWay, OptimizersOfSingleElements) {
  for (const UpdateRule rule : {UpdateRule::adam, UpdateRule::rmsprop}) {
    TrainingRun run = run_of("candle-p1b2:i64w32c10", "split:2");
    run.trainer.learning.rule = rule;
    expect_right(run, 2, 1e-3);
  }
}

TEST(SplitWay, ASumWithoutATermIsFound) {
  // Two sums in a pass of P1B2 forward, and one backward: in the step, and when it is made again.
  for (int which = 1; which <= 6; ++which) {
    std::string reason;
    testing_fakes::on_threads(2, [&](Communicator& under) {
      LosesATerm ranks(under, which);
      Split split(run_of("candle-p1b2:i64w32c10", "split:2", 1), ranks);
      split.make(0, 1, true);
      const Verification before = split.judge();
      EXPECT_TRUE(before.passed) << before.reason;
      ranks.arm();
      split.make(1, 1, true);
      const Verification found = split.judge();
      if (under.rank() == 0) reason = found.reason;
    });
    EXPECT_FALSE(reason.empty()) << which;
  }
}

TEST(SplitWay, AGroupWhoseGradientsAreDroppedIsFound) {
  std::string reason;
  testing_fakes::on_threads(4, [&](Communicator& under) {
    LosesAGroup ranks(under);
    Split split(run_of("resnet18:w8s32c10", "split:2*sync", 1), ranks);
    split.make(0, 1, true);
    const Verification found = split.judge();
    if (under.rank() == 0) reason = found.reason;
  });
  EXPECT_FALSE(reason.empty());
}

/// A loss scale that is too large for one rank skips the update of all.
TEST(SplitWay, AStepIsSkippedOnAllRanks) {
  TrainingRun run = run_of("resnet18:w8s32c10", "split:2", 1, Precision::fp16);
  run.trainer.loss_scale = parse_loss_scale("--loss-scale", "dynamic:16777216");
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    Split split(run, ranks);
    const std::vector<double> before = split.weights();
    split.make(0, 1, true);
    EXPECT_TRUE(split.judge().passed);
    EXPECT_EQ(split.weights(), before);
    split.make(1, 20, true);
    const Verification found = split.judge();
    EXPECT_TRUE(found.passed) << found.reason;
    EXPECT_NE(split.weights(), before);
  });
}

std::set<std::string> plan(const std::string& network, int ranks) {
  return list_divided_layers(make_gradient_graph(network_of(network), 1, Precision::fp32, {}),
                             ranks);
}

TEST(SplitWay, EachBlockHasOnePair) {
  using Layers = std::set<std::string>;
  EXPECT_EQ(plan("mlp:i64w32l3c10", 4), (Layers{"fc1", "fc3"}));
  EXPECT_EQ(plan("resnet18:w8s32c10", 2),
            (Layers{"layer1.0.conv1", "layer1.1.conv1", "layer2.0.conv1", "layer2.1.conv1",
                    "layer3.0.conv1", "layer3.1.conv1", "layer4.0.conv1", "layer4.1.conv1"}));
  // The first convolution, too, since its reader is not added to anything.
  const Layers of_50 = plan("resnet50:w8s32c10", 2);
  EXPECT_EQ(of_50.size(), 17U);
  for (const char* const layer : {"conv1", "layer1.0.conv2", "layer1.1.conv1", "layer4.2.conv1"})
    EXPECT_TRUE(of_50.contains(layer)) << layer;
  EXPECT_EQ(plan("resnet18:w8s32c10", 16),
            (Layers{"layer2.0.conv1", "layer2.1.conv1", "layer3.0.conv1", "layer3.1.conv1",
                    "layer4.0.conv1", "layer4.1.conv1"}));
  EXPECT_TRUE(plan("mlp:i64w32l2c10p20", 2).empty());  // masks depend on the place of an element
  EXPECT_TRUE(plan("mlp:i64w31l2c10", 2).empty());
}

TEST(SplitWay, PartsOfParametersMakeTheWhole) {
  const TrainingRun run = run_of("candle-p1b1:i64w32n8", "split:4");
  const Graph whole = make_training_graph(run.trainer.network, 4, Precision::fp32, {}),
              part = split_step(run.trainer.network, 4, Precision::fp32, {}, 4, false, {});
  const auto elements = static_cast<std::size_t>(whole.elements(whole.weights));
  std::vector<std::byte> all(elements), again(elements);
  for (const Parameter& parameter : whole.parameters)
    for (std::int64_t i = 0; i < parameter.elements(); ++i)
      all[static_cast<std::size_t>(parameter.offset + i)] =
          static_cast<std::byte>(1 + (parameter.offset + i) % 251);
  std::size_t kept = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const PartsOfParameters parts(whole, part, rank);
    std::vector<std::byte> own(static_cast<std::size_t>(part.elements(part.weights)));
    parts.take(all, own, 1);
    parts.place(own, again, 1);
    kept = own.size();
  }
  EXPECT_EQ(again, all);
  EXPECT_LT(kept, elements / 3);
}

TEST(SplitWay, RefusesWhatDoesNotFit) {
  const auto reason = [](TrainingRun run, int count) {
    std::string why;
    testing_fakes::on_threads(count, [&](Communicator& ranks) {
      const auto whole = network_test::made(run.trainer, ranks);
      const auto made = make_split_way({run, plugins(), ranks, *whole});
      const auto* const refusal = std::get_if<Unsupported>(&made);
      if (ranks.rank() == 0 && refusal != nullptr) why = refusal->reason;
    });
    return why;
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? "" : text + " lacks " + part;
  };
  const char* const mlp = "mlp:i64w32l2c10";
  EXPECT_EQ(has(reason(run_of(mlp, "split:2"), 3), "there are 3 ranks"), "");
  EXPECT_EQ(has(reason(run_of(mlp, "split:2*sync"), 3), "Start 2 or more times 2"), "");
  EXPECT_EQ(has(reason(run_of(mlp, "split:2*sync"), 2), "Start 2 or more times 2"), "");
  EXPECT_EQ(has(reason(run_of("mlp:i64w31l2c10", "split:2"), 2), "no two layers"), "");
  TrainingRun lamb = run_of(mlp, "split:2");
  lamb.trainer.learning.rule = UpdateRule::lamb;
  EXPECT_EQ(has(reason(lamb, 2), "norms of whole parameters"), "");
}

}  // namespace test_split_way
}  // namespace assay
