// Pipelines of threads: their steps are those of plain accumulation, and faults of messages show.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/forwarding.hpp"
#include "models/network/network_family.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/ranks.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/trainers.hpp"
#include "tests/models/parallel/way_session.hpp"

namespace assay {
namespace test_pipeline_way {

using network_test::plugins;

TrainingRun run_of(const std::string& network, const std::string& way, std::int64_t passes,
                   Precision precision = Precision::fp32) {
  const NamedNetwork named = find_named_network(network);
  TrainingRun run;
  run.trainer = network_test::small_settings("native");
  run.trainer.network = named.family->network(named.family->canonical(named.fields));
  run.trainer.executor.threads = 1;
  run.trainer.accumulate = passes;
  run.trainer.precision = precision;
  run.parallel = parse_parallel(way);
  run.data.classes = run.trainer.network.classes;
  run.data.input = run.trainer.network.input;
  run.data.labels = run.trainer.network.labels;
  return run;
}

/// One message of a stage goes wrong, once.
class FaultyMessages final : public ForwardingCommunicator {
 public:
  enum class Fault { none, exchanged, repeated };
  FaultyMessages(Communicator& under, Fault fault, int tag)
      : ForwardingCommunicator(under), fault_(fault), tag_(tag) {}
  void arm() { armed_ = fault_ != Fault::none; }

  Request send(Buffer data, int to, int tag, Stream& stream) override {
    if (!armed_ || tag != tag_) return under().send(data, to, tag, stream);
    if (first_.empty()) {  // keep it
      const auto* const bytes = static_cast<const std::byte*>(data.data);
      first_.assign(bytes, bytes + data.bytes());
      return fault_ == Fault::repeated ? under().send(data, to, tag, stream) : Request{};
    }
    armed_ = false;
    Buffer kept = data;
    kept.data = first_.data();
    if (fault_ == Fault::repeated) return under().send(kept, to, tag, stream);
    Request second = under().send(data, to, tag, stream),
            first = under().send(kept, to, tag, stream);
    under().wait(second);
    return first;
  }

 private:
  Fault fault_;
  int tag_;
  bool armed_ = false;
  std::vector<std::byte> first_;
};

struct Pipeline : network_test::WaySession {
  Pipeline(TrainingRun settings, Communicator& ranks)
      : WaySession(std::move(settings), ranks, &make_pipeline_way) {}
};

void expect_plain_accumulation(const TrainingRun& run, int stages, bool tags = true) {
  testing_fakes::on_threads(
      stages,
      [&](Communicator& ranks) {
        Pipeline pipeline(run, ranks);
        pipeline.make(0, 2, false);
        for (std::int64_t step = 2; step < 5; ++step) {
          pipeline.way->poison();
          const StepTotals made = pipeline.make(step, 1, true);
          double images = made.images, flops = made.flops;
          RankCalls(ranks).sum(std::span(&images, 1));
          RankCalls(ranks).sum(std::span(&flops, 1));
          const auto passes = static_cast<double>(run.trainer.accumulate);
          EXPECT_EQ(images, passes * static_cast<double>(run.trainer.batch));
          EXPECT_GE(flops * (1 + 1e-9), passes * pipeline.whole->graph().flops());
          const Verification found = pipeline.judge();
          EXPECT_TRUE(found.passed) << found.reason;
        }
        const auto metrics = pipeline.way->metrics();
        EXPECT_EQ(metrics.at("judged_steps").value, 3);
        EXPECT_EQ(metrics.at("judged_steps_equal_bits").value, 3);
        EXPECT_GE(metrics.at("bubble").value, 0);
        EXPECT_LT(metrics.at("bubble").value, 1);
      },
      0, tags);
}

TEST(PipelineWay, StepsArePlainAccumulation) {
  for (const char* const network : {"mlp:i64w32l6c10p20", "resnet18:w8s32c10"})
    for (const Precision precision : {Precision::fp32, Precision::bf16})
      for (const auto& [stages, passes, schedule] :
           {std::tuple{2, 4, ""}, std::tuple{2, 3, ":fill-drain"}, std::tuple{4, 6, ""},
            std::tuple{4, 2, ""}, std::tuple{2, 1, ":fill-drain"}}) {
        SCOPED_TRACE(std::string(network) + " " + std::to_string(stages) + schedule);
        expect_plain_accumulation(
            run_of(network, "pipeline:" + std::to_string(stages) + schedule, passes, precision),
            stages);
      }
}

TEST(PipelineWay, GroupsMakeTheStepsOfOneRankWithAllSamples) {
  for (const char* const network : {"mlp:i64w32l6c10p20", "resnet18:w8s32c10"})
    for (const std::int64_t passes : {1, 3})
      testing_fakes::on_threads(4, [&](Communicator& ranks) {
        Pipeline pipeline(run_of(network, "pipeline:2*sync", passes), ranks);
        for (std::int64_t step = 0; step < 3; ++step) {
          const StepTotals made = pipeline.make(step, 1, true);
          double images = made.images;
          RankCalls(ranks).sum(std::span(&images, 1));
          EXPECT_EQ(images, static_cast<double>(2 * passes * pipeline.run.trainer.batch));
          const Verification found = pipeline.judge();
          EXPECT_TRUE(found.passed) << network << ": " << found.reason;
        }
        EXPECT_EQ(pipeline.way->metrics().at("judged_steps").value, 3);
      });
}

/// Messages between two ranks are received in the order in which they are sent.
TEST(PipelineWay, NeedsNoTags) {
  for (const char* const way : {"pipeline:4", "pipeline:4:fill-drain"})
    expect_plain_accumulation(run_of("mlp:i64w32l6c10", way, 6), 4, false);
}

TEST(PipelineWay, OptimizersWithNormsAndMomentsSeeWholeParameters) {
  for (const UpdateRule rule : {UpdateRule::lamb, UpdateRule::larc, UpdateRule::adam}) {
    TrainingRun run = run_of("mlp:i64w32l3c10", "pipeline:2", 3);
    run.trainer.learning.rule = rule;
    expect_plain_accumulation(run, 2);
  }
}

/// A loss scale that is too large for one stage skips the update of all.
TEST(PipelineWay, AStepIsSkippedOnAllStages) {
  TrainingRun run = run_of("mlp:i64w32l6c10", "pipeline:2", 3, Precision::fp16);
  run.trainer.loss_scale = parse_loss_scale("--loss-scale", "dynamic:16777216");
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    Pipeline pipeline(run, ranks);
    std::vector<double> before, after;
    pipeline.way->gather();
    before = read_values(pipeline.whole->executor(), pipeline.whole->graph().weights);
    pipeline.make(0, 1, true);
    const Verification skipped = pipeline.judge();
    EXPECT_TRUE(skipped.passed) << skipped.reason;
    pipeline.way->gather();
    after = read_values(pipeline.whole->executor(), pipeline.whole->graph().weights);
    EXPECT_EQ(before, after);
    pipeline.make(1, 20, true);
    const Verification found = pipeline.judge();
    EXPECT_TRUE(found.passed) << found.reason;
    pipeline.way->gather();
    after = read_values(pipeline.whole->executor(), pipeline.whole->graph().weights);
    EXPECT_NE(before, after);
    EXPECT_EQ(pipeline.way->metrics().at("judged_steps").value, 1);
  });
}

TEST(PipelineWay, GatheredWeightsAreThoseOfTheStages) {
  const TrainingRun run = run_of("mlp:i64w32l6c10", "pipeline:4", 2);
  const auto alone = make_serial_communicator();
  testing_fakes::on_threads(4, [&](Communicator& ranks) {
    Pipeline pipeline(run, ranks);
    pipeline.make(0, 3, false);
    pipeline.way->gather();
    const std::vector<double> all =
        read_values(pipeline.whole->executor(), pipeline.whole->graph().weights);
    std::string text(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(double));
    for (const std::string& other : ranks.allgather(text)) EXPECT_TRUE(other == text);
    // The same steps on one rank.
    TrainerSettings settings = run.trainer;
    const auto plain = network_test::made(settings, *alone);
    for (std::int64_t step = 0; step < 3; ++step) {
      std::vector<std::unique_ptr<OrderedBatches>> sources;
      for (int pass = 0; pass < 2; ++pass)
        sources.push_back(std::make_unique<OrderedBatches>(run, *alone, pass, 2));
      std::size_t next = 0;
      const auto load = [&] {
        const Batch& batch = sources[next++]->at(0, step);
        plain->load(batch.images, batch.labels);
      };
      load();
      plain->step(0.01, nullptr, load);
    }
    EXPECT_EQ(read_values(plain->executor(), plain->graph().weights), all);
  });
}

std::string reason_of(FaultyMessages::Fault fault, int tag, const std::string& schedule) {
  const TrainingRun run = run_of("mlp:i64w32l6c10", "pipeline:2" + schedule, 4);
  std::string reason;
  testing_fakes::on_threads(2, [&](Communicator& under) {
    FaultyMessages ranks(under, fault, tag);
    Pipeline pipeline(run, ranks);
    pipeline.make(0, 1, false);
    ranks.arm();
    pipeline.make(1, 1, true);
    const Verification found = pipeline.judge();
    if (under.rank() == 0) reason = found.reason;
  });
  return reason;
}

TEST(PipelineWay, MicroBatchesThatAreLostOrExchangedAreFound) {
  using enum FaultyMessages::Fault;
  constexpr int activations = 2, gradients = 3;
  for (const char* const schedule : {"", ":fill-drain"}) {
    EXPECT_EQ(reason_of(none, activations, schedule), "");
    for (const int tag : {activations, gradients})
      EXPECT_NE(reason_of(repeated, tag, schedule).find("the gradient of "), std::string::npos);
    EXPECT_NE(reason_of(exchanged, activations, schedule).find("the gradient of "),
              std::string::npos);
  }
  // Sent in the order of the sums, gradients cannot wait for each other but in fill-drain.
  EXPECT_NE(reason_of(exchanged, gradients, ":fill-drain").find("the gradient of "),
            std::string::npos);
}

TEST(PipelineWay, RefusesWhatDoesNotFit) {
  const auto reason = [](const std::string& network, const std::string& way, int count) {
    std::string why;
    testing_fakes::on_threads(count, [&](Communicator& ranks) {
      const TrainingRun run = run_of(network, way, 2);
      const auto whole = network_test::made(run.trainer, ranks);
      const auto made = make_pipeline_way({run, plugins(), ranks, *whole});
      const auto* const refusal = std::get_if<Unsupported>(&made);
      if (ranks.rank() == 0 && refusal != nullptr) why = refusal->reason;
    });
    return why;
  };
  EXPECT_NE(reason("mlp:i64w32l6c10", "pipeline:2", 3).find("there are 3 ranks"),
            std::string::npos);
  EXPECT_NE(reason("candle-p1b1:i64w32n8", "pipeline:9", 9).find("places"), std::string::npos);
}

}  // namespace test_pipeline_way
}  // namespace assay
