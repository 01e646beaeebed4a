// Layers divided among threads that play ranks: steps are right, and sums without a term show.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/forwarding.hpp"
#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/split_graph.hpp"
#include "models/ranks.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/trainers.hpp"
#include "tests/models/parallel/way_session.hpp"

namespace assay {
namespace test_split_way {

using network_test::difference;
using network_test::plugins;

TrainingRun run_of(const std::string& network, int ranks, std::int64_t passes = 2,
                   Precision precision = Precision::fp32) {
  const NamedNetwork named = named_network(network);
  TrainingRun run;
  run.trainer = network_test::small_settings("native");
  run.trainer.network = named.family->network(named.family->canonical(named.fields));
  run.trainer.executor.threads = 1;
  run.trainer.accumulate = passes;
  run.trainer.precision = precision;
  run.parallel = parallel_of("split:" + std::to_string(ranks));
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

struct Split : network_test::WaySession {
  Split(TrainingRun settings, Communicator& ranks)
      : WaySession(std::move(settings), ranks, &make_split_way) {}
  std::vector<double> weights() {
    way->gather();
    return read_values(whole->executor(), whole->graph().weights);
  }
};

/// The same steps on one rank.
std::vector<double> undivided_weights(const TrainingRun& run, std::int64_t steps) {
  const auto alone = serial_communicator();
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
  const std::vector<double> expected = undivided_weights(run, 4);
  testing_fakes::on_threads(count, [&](Communicator& ranks) {
    Split split(run, ranks);
    split.make(0, 2, false);
    for (std::int64_t step = 2; step < 4; ++step) {
      split.way->poison();
      const MadeSteps made = split.make(step, 1, true);
      double sums[] = {made.images, made.flops, made.batches};
      RankCalls(ranks).sum(sums);
      const auto passes = static_cast<double>(run.trainer.accumulate);
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
    EXPECT_GT(split.way->metrics().at("summed_bytes").value, 0);
  });
}

TEST(SplitWay, StepsAreThoseOfUndividedLayers) {
  for (const char* const network :
       {"mlp:i64w32l2c10", "mlp:i64w32l3c10", "candle-p1b1:i64w32n8", "candle-p1b2:i64w32c10"})
    for (const int count : {2, 4}) {
      SCOPED_TRACE(std::string(network) + " " + std::to_string(count));
      expect_right(run_of(network, count), count, 1e-5);
    }
  expect_right(run_of("mlp:i64w32l3c10", 2, 1, Precision::bf16), 2, 0.02);
}

TEST(SplitWay, OptimizersOfSingleElements) {
  for (const UpdateRule rule : {UpdateRule::adam, UpdateRule::rmsprop}) {
    TrainingRun run = run_of("candle-p1b2:i64w32c10", 2);
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
      Split split(run_of("candle-p1b2:i64w32c10", 2, 1), ranks);
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

TEST(SplitWay, PartsOfParametersMakeTheWhole) {
  const TrainingRun run = run_of("candle-p1b1:i64w32n8", 4);
  const Graph whole = training_graph(run.trainer.network, 4, Precision::fp32, {}),
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
  EXPECT_EQ(has(reason(run_of("mlp:i64w32l2c10", 2), 3), "there are 3 ranks"), "");
  EXPECT_EQ(has(reason(run_of("resnet18:w8s32c10", 2), 2), "convolutions"), "");
  EXPECT_EQ(has(reason(run_of("mlp:i64w32l2c10p20", 2), 2), "drop1 reads all features"), "");
  EXPECT_EQ(has(reason(run_of("mlp:i64w31l2c10", 2), 2), "no layer"), "");
  EXPECT_EQ(has(reason(run_of("candle-p1b1:i64w33n8", 2), 2), "the loss reads all"), "");
  TrainingRun lamb = run_of("mlp:i64w32l2c10", 2);
  lamb.trainer.learning.rule = UpdateRule::lamb;
  EXPECT_EQ(has(reason(lamb, 2), "norms of whole parameters"), "");
}

}  // namespace test_split_way
}  // namespace assay
