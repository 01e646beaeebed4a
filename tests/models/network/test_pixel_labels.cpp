// Networks for labels of pixels: their data, loss and intersection over union, as rows have them.

#include <gtest/gtest.h>

#include <cmath>

#include "core/measure/run_case.hpp"
#include "core/program/suite.hpp"
#include "models/network/batch_oracle.hpp"
#include "models/network/batches.hpp"
#include "models/network/learnable_fields.hpp"
#include "models/network/network_settings.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/scores.hpp"
#include "models/network/self_check.hpp"
#include "models/network/training_oracle.hpp"
#include "pixel_network.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/core/thread_communicator.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_pixel_labels {

using network_test::PixelBenchmark;
using network_test::PixelShape;
using network_test::plugins;

using Chosen = std::map<std::string, std::vector<std::string>>;

Chosen training(const Chosen& others = {}) {
  Chosen chosen{{"backend", {"native"}}, {"batch", {"4"}},
                {"threads", {"1"}},      {"steps", {"5"}},
                {"optimizer", {"adam"}}, {"rate", {"0.02"}},
                {"scaling", {"none"}},   {"self_check", {"yes"}},
                {"smoothing", {"0"}},    {"data", {"learnable:n160v22"}}};
  for (const auto& [name, values] : others) chosen[name] = values;
  return chosen;
}

/// The row of a case.
Outcome outcome_of(const Benchmark& benchmark, const Chosen& chosen) {
  const auto alone = make_serial_communicator();
  const Case selected = expand(benchmark, chosen, plugins()).at(0);
  CaseContext context{plugins(), *alone};
  return run_case([&] { return benchmark.prepare(selected, context); }, *alone,
                  TimingOptions{.max_time = 0.1});
}

const Chosen to_target{{"epochs", {"4"}}, {"target", {"0.6"}}, {"rate", {"0.05"}}};

TEST(PixelLabels, AComparisonWithFp64HasThoseOfTheSyntheticBatch) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = network_test::small_settings("native");
  settings.network = network_test::pixel_network({.input = network_test::small_pixels});
  settings.batch = 3;
  const auto trainer = network_test::made(settings, *alone);
  load_random(*trainer, settings.seed);
  const auto batches = make_resident_batch(
      {3, network_test::small_pixels, settings.seed, 3, Labels::per_pixel}, {3, 0, 1, true, 1});
  const std::vector<double> labels = read_values(trainer->executor(), trainer->graph().labels);
  const std::span<const std::int64_t> expected = batches->next().labels;
  EXPECT_EQ(labels, std::vector<double>(expected.begin(), expected.end()));
}

/// If two logits are nearly equal, their rounding decides the class of a pixel.
TEST(PixelLabels, InferencePassesInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    const Outcome outcome = outcome_of(PixelBenchmark(), {{"direction", {"inference"}},
                                                          {"backend", {"native"}},
                                                          {"batch", {"4"}},
                                                          {"threads", {"2"}},
                                                          {"precision", {precision}}});
    EXPECT_EQ(outcome.status, "ok") << precision << ": " << outcome.reason;
  }
}

/// All background has a third of 0.95.
TEST(PixelLabels, ATrainingReachesItsTargetInEveryPrecision) {
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    Chosen chosen = training(to_target);
    chosen["precision"] = {precision};
    const Outcome outcome = outcome_of(PixelBenchmark(), chosen);
    ASSERT_EQ(outcome.status, "ok") << precision << ": " << outcome.reason;
    EXPECT_GT(outcome.metrics.at("iou").value, 0.6);
    EXPECT_EQ(outcome.metrics.count("accuracy"), 0);
  }
}

/// Threads share a processor, and are no ranks whose times a row may have.
TEST(PixelLabels, TwoRanksReachIt) {
  const PixelBenchmark benchmark;
  const Case selected = expand(benchmark, training(to_target), plugins(), false, {2, 1}).at(0);
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    TrainingRun run = typed_settings<NetworkSettings>(selected).run;
    const auto trainer = network_test::made(run.trainer, ranks);
    auto evaluator =
        std::get<std::unique_ptr<Evaluator>>(Evaluator::make(*trainer, plugins(), ranks));
    const BatchShare share{4, ranks.rank(), 2, true, 1};
    const auto train = make_training_batches(run.data, share),
               validate = make_validation_batches(run.data, share);
    const NetworkDefinition definition = benchmark.definition("c3");
    TrainingOracle oracle(selected.settings, definition, 1, ranks);
    StepOracle steps(StepClaims(selected.settings, definition.input), trainer->executor(), ranks);
    run.convergence.claims = selected.settings;
    run.convergence.oracle = &oracle;
    run.convergence.step_oracle = &steps;
    const Convergence made =
        assay::train(*trainer, *evaluator, *train, *validate, ranks, run.convergence);
    EXPECT_TRUE(made.verification.passed) << made.verification.reason;
    EXPECT_TRUE(made.reached);
    EXPECT_GT(made.epochs.back().evaluation->score, 0.6);
  });
}

TEST(PixelLabels, OneBatchInMemoryAndAccumulationAndALag) {
  for (const Chosen& others :
       {Chosen{{"data", {"synthetic"}}}, Chosen{{"accumulate", {"2"}}}, Chosen{{"lag", {"1"}}},
        Chosen{{"optimizer", {"sgd"}}}, Chosen{{"backend", {"reference"}}}}) {
    Chosen chosen = training({{"rate", {"0.0001"}}});
    for (const auto& [name, values] : others) chosen[name] = values;
    const Outcome outcome = outcome_of(PixelBenchmark(), chosen);
    EXPECT_EQ(outcome.status, "ok") << others.begin()->first << ": " << outcome.reason;
  }
}

TEST(PixelLabels, InferenceIsVerified) {
  Chosen chosen{
      {"direction", {"inference"}}, {"backend", {"native"}}, {"batch", {"4"}}, {"threads", {"1"}}};
  for (const char* precision : {"fp32", "bf16", "fp16"}) {
    chosen["precision"] = {precision};
    const Outcome outcome = outcome_of(PixelBenchmark(), chosen);
    EXPECT_EQ(outcome.status, "ok") << outcome.reason;
  }
}

TEST(PixelLabels, AWeightOfTheNextClassIsFound) {
  const PixelBenchmark faulty({}, {.next_weight = true});
  const Outcome outcome = outcome_of(faulty, training());
  EXPECT_EQ(outcome.status, "incorrect");
  EXPECT_SAYS(outcome.reason, "the loss of image 0 is ");
  // A small training with it does not end as the definition's either.
  const auto alone = make_serial_communicator();
  const Case selected = expand(faulty, training(), plugins()).at(0);
  auto trainer = network_test::made(typed_settings<NetworkSettings>(selected).run.trainer, *alone);
  Verification found;
  found.passed = true;
  self_check(*trainer, 0.02, network_test::pixel_definition().small, selected.settings, plugins(),
             *alone, nullptr, found);
  EXPECT_SAYS(found.reason, "--self-check: after 5 steps of a small network");
}

/// The loss scale is that with which fp16 begins: weights of 1/f make gradients of logits that are
/// not finite (0.1 / 0.015 / 4 * 65536 is 109227), and those of 1/sqrt(f) do not.
TEST(PixelLabels, WeightsOfInverseFrequenciesOverflow) {
  const auto scale_after = [](double power) {
    const Chosen chosen = training(
        {{"precision", {"fp16"}}, {"loss_scale", {"dynamic:65536:2000"}}, {"rate", {"0.0001"}}});
    const Outcome outcome = outcome_of(PixelBenchmark({{4, 32, 48}, power, 0.1}), chosen);
    if (outcome.status != "ok") throw std::runtime_error(outcome.reason);
    return outcome.metrics.at("loss_scale").value;
  };
  EXPECT_LE(scale_after(-1), 32768);
  EXPECT_EQ(scale_after(-0.5), 65536);
}

TEST(PixelLabels, SmoothingIsRefused) {
  EXPECT_SAYS(fixture::message_of([] {
                expand(PixelBenchmark(), training({{"smoothing", {"0.1"}}}), plugins());
              }),
              "one label a sample, and pixels is none");
}

const InputShape shape{4, 32, 48};

std::unique_ptr<Batches> fields(bool train) {
  return make_learnable_batches(std::make_shared<const LearnableFields>(shape, 3, 7),
                                train ? 60 : 22, {4, 0, 1, train, 7});
}

BatchOracle oracle_of(const std::string& data) {
  const Settings claims{{"data", data},      {"validation", "none"}, {"augment", "crop+flip"},
                        {"label_base", "0"}, {"batch", "4"},         {"max_bad_samples", "0"},
                        {"accumulate", "1"}, {"ranks", "1"},         {"trial", "0"}};
  return {DataClaims(claims, {shape, 3, Labels::per_pixel, {1, 1, 1}}, 7), 0};
}

TEST(PixelLabels, LabelsThatAreShiftedByAPixelAreFound) {
  for (const bool train : {true, false}) {
    const auto batches = fields(train);
    const BatchOracle oracle = oracle_of("learnable:n60v22");
    for (int i = 0; i < 6; ++i) {
      Batch batch = batches->next();
      EXPECT_EQ(batch.count, !train && i == 5 ? 2 : 4);
      EXPECT_EQ(oracle.fault(batch, train), "");
      std::vector<std::int64_t> labels(batch.labels.begin(), batch.labels.end());
      std::rotate(labels.begin(), labels.begin() + 1, labels.begin() + shape.pixels());
      batch.labels = labels;
      EXPECT_SAYS(oracle.fault(batch, train), "has the label ");
      labels.pop_back();
      batch.labels = labels;
      EXPECT_SAYS(oracle.fault(batch, train), "6143 labels");
    }
  }
}

TEST(PixelLabels, TheBatchInMemoryIsJudged) {
  ResidentSettings settings{3, shape, 7};
  settings.labels = Labels::per_pixel;
  const auto batches = make_resident_batch(settings, {4, 0, 1, true, 7});
  Batch batch = batches->next();
  const BatchOracle oracle = oracle_of("synthetic");
  EXPECT_EQ(oracle.fault(batch, true), "");
  std::vector<std::int64_t> labels(batch.labels.begin(), batch.labels.end());
  for (std::int64_t& label : labels) label = (label + 1) % 3;
  batch.labels = labels;
  EXPECT_SAYS(oracle.fault(batch, true), "has the label ");
}

/// The values were computed by hand: classes that nobody has do not count, and false ones count as
/// none that is right.
TEST(PixelLabels, IntersectionOverUnion) {
  const std::vector<std::int32_t> all_right{5, 0, 0, 0, 2, 0, 0, 0, 3},
      none{4, 0, 0, 0, 0, 0, 0, 0, 0}, mixed{6, 1, 1, 0, 2, 0, 2, 0, 0};
  EXPECT_EQ(iou(all_right, 3), 1);
  EXPECT_EQ(iou(none, 3), 1);
  EXPECT_DOUBLE_EQ(iou(mixed, 3), (6 / 10.0 + 2 / 3.0 + 0) / 3);
}

}  // namespace test_pixel_labels
}  // namespace assay
