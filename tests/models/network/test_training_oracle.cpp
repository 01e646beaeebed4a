// Trainings, evaluations and states that are not what the parameters say, before their oracles.

#include "models/network/learnable_images.hpp"
#include "models/network/training_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "core/base/clock.hpp"
#include "forwarding_batches.hpp"
#include "session.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_training_oracle {

using network_test::Session;

/// Why a training is refused that is judged by other parameters than it has.
std::string refusal(const std::map<std::string, std::string>& other,
                    const std::function<void(Session&)>& change = {}) {
  Session run(1, 8, 160);
  run.settings.target = 1;
  Settings claims = run.claims();
  for (const auto& [name, value] : other) claims[name] = value;
  if (change) change(run);
  const Convergence made = run.train(claims);
  EXPECT_NE(made.verification.passed, !made.verification.reason.empty());
  return made.verification.reason;
}

TEST(TrainingOracle, ATrainingIsWhatItClaims) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_SAYS(refusal({{"rate", "0.2"}}), "the learning rate of step 0 of epoch 1 is 0.1, not 0.2");
  EXPECT_SAYS(refusal({{"schedule", "constant"}}), "the learning rate of step 1 of epoch 1 is ");
  EXPECT_SAYS(refusal({{"epochs", "3"}}), "");
  EXPECT_SAYS(refusal({{"problem", "d18w16s32c10"}}), "d18w16s32c10 has no parameter ");
  EXPECT_SAYS(refusal({{"trial", "1"}}), "begins as ");
  EXPECT_SAYS(refusal({{"loss_scale", "dynamic"}}), "the loss scale begins as 1 ");
  EXPECT_NE(refusal({{"data", "learnable:n320v300"}}), "");
  EXPECT_SAYS(refusal({{"data", "learnable:n160v200"}}), "must be sample -1, in the training");
}

TEST(TrainingOracle, ATargetThatIsNotReachedIsNotReached) {
  const auto lax = [](Session& run) {
    run.settings.target = 0;
    run.settings.decay.kind = Decay::Kind::constant;
  };
  EXPECT_SAYS(refusal({{"target", "0.99"}, {"schedule", "constant"}}, lax),
              "does not reach the target 0.99, but the training counts it as reached");
}

/// All but the numbers of samples are those of another object's batches.
class Mixed final : public network_test::ForwardingBatches {
 public:
  Mixed(std::unique_ptr<Batches> numbers, std::unique_ptr<Batches> images)
      : ForwardingBatches(std::move(numbers)), images_(std::move(images)) {}
  const Batch& next() override {
    batch_ = ForwardingBatches::next();
    images_->start({batch_.epoch, batch_.step, {}});
    const Batch& other = images_->next();
    batch_.images = other.images;
    batch_.labels = other.labels;
    return batch_;
  }

 private:
  std::unique_ptr<Batches> images_;
  Batch batch_;
};

std::shared_ptr<const LearnableImages> images(std::uint64_t seed = 1) {
  return std::make_shared<const LearnableImages>(LearnableSettings{10, 32, seed});
}

TEST(TrainingOracle, OtherImagesAreRefused) {
  EXPECT_SAYS(refusal({},
                      [](Session& run) {
                        run.training = std::make_unique<Mixed>(
                            std::move(run.training),
                            make_learnable_batches(images(2), 160, {32, 0, 1, true, 1}));
                      }),
              "of epoch 1 (sample ");
  EXPECT_SAYS(refusal({},
                      [](Session& run) {  // of training
                        run.validation = std::make_unique<Mixed>(
                            std::move(run.validation),
                            make_learnable_batches(images(), 320, {32, 0, 1, true, 1}));
                      }),
              "in the training");
}

/// A batch is made again in place of the next one.
class Repeating final : public network_test::ForwardingBatches {
 public:
  using ForwardingBatches::ForwardingBatches;
  const Batch& next() override {
    const Batch& batch = ForwardingBatches::next();
    if (batch.step != 3) return batch;
    start({batch.epoch, 2, {}}, InputPipeline::unlimited);
    return ForwardingBatches::next();
  }
};

TEST(TrainingOracle, SamplesThatComeTwiceAreRefused) {
  EXPECT_SAYS(refusal({},
                      [](Session& run) {
                        run.training = std::make_unique<Repeating>(std::move(run.training));
                      }),
              "batch 3 of epoch 1 is that of step 2 of epoch 1");
}

/// The message about an epoch with these results, as parts of the right ones.
std::string fault_of_results(double loss, double speed) {
  Session run(1, 8, 160);
  TrainingOracle oracle(run.claims(), run.definition(), 1, *run.ranks);
  const ClaimedRate rate(run.claims(), 5);
  oracle.begin(*run.trainer, 0, 0, false);
  oracle.begin_epoch(0, 0);
  double losses = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < 5; ++step) {
    oracle.begin_step();
    const Batch& batch = run.training->next();
    run.trainer->load(batch.images, batch.labels);
    oracle.take(batch);
    run.trainer->step(rate.at(step));
    losses += run.trainer->loss();
    oracle.end_step(*run.trainer, rate.at(step), run.trainer->loss(), false, false);
  }
  EpochResult made;
  made.training_loss = loss * losses / 5;
  made.images_per_s = speed * 160 / seconds_since(start);
  oracle.end_epoch(*run.trainer, made);
  return oracle.verification().reason;
}

TEST(TrainingOracle, LossAndSpeedOfAnEpochAreThoseOfItsSteps) {
  EXPECT_EQ(fault_of_results(1, 1), "");
  EXPECT_SAYS(fault_of_results(1.0 / 3, 1), "the training loss of epoch 1 is ");
  EXPECT_SAYS(fault_of_results(1, 1.5), "have passed in those without checks");
}

/// The message about three epochs at 0.01 s for their steps, which count so many seconds.
std::string fault_of_times(const std::vector<double>& seconds) {
  Session run(1, 8, 160);
  Settings claims = run.claims();
  claims["target"] = "1";
  TrainingOracle oracle(claims, run.definition(), 1, *run.ranks);
  Convergence made;
  double passed = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    EpochResult& result = made.epochs.emplace_back();
    result.epoch = static_cast<std::int64_t>(i) + 1;
    result.images_per_s = 160 / 0.01;
    result.seconds = passed += seconds[i];
    result.evaluation.emplace();
    result.evaluation->score = 0.5;
  }
  oracle.end(made, false);
  return oracle.verification().reason;
}

TEST(TrainingOracle, AnInterruptedClockIsNoTrainingThatCountsTooLittle) {
  const char* const later = "has ended after 0";  // judged after the times
  EXPECT_SAYS(fault_of_times({0.01, 0.01, 0.01}), later);
  EXPECT_SAYS(fault_of_times({0.01, 0.003, 0.01}), later);
  EXPECT_SAYS(fault_of_times({0.01, 0.003, 0.003}), "epoch 2 and its validation count 0.003 s");
  EXPECT_SAYS(fault_of_times({0.01, 0.01, -0.2}), "epoch 3 and its validation count -0.2 s");
}

/// The message about one evaluation with right images, whose result or statistics are changed.
std::string fault_of_evaluation(const std::function<void(Evaluation&)>& change,
                                double statistic = 0) {
  Session run(1, 8, 160);
  const BatchOracle data(DataClaims(run.claims(), run.definition().input, 1), 0);
  EvaluationOracle oracle(data, *run.ranks), own(data, *run.ranks);
  StepCheck check;
  check.verification.passed = true;
  run.trainer->running_statistics()[0] = 0.25;
  Evaluation found = run.evaluator->evaluate(*run.validation, &check, &oracle);
  EXPECT_EQ(oracle.fault(), "");
  EXPECT_GT(oracle.checked(), 0);
  change(found);
  std::vector<double> running = run.trainer->running_statistics();
  running[0] += statistic;
  own.begin(run.evaluator->executor(), running);
  run.validation->start({}, run.validation->steps());
  for (std::int64_t step = 0; step < run.validation->steps(); ++step) {
    const Batch& batch = run.validation->next();
    put_batch(run.evaluator->executor(), batch.images,
              std::vector<std::int64_t>(batch.labels.size(), 0));
    const std::vector<double> losses(batch.labels.size(), found.loss),
        correct(batch.labels.size(), 1);
    own.add(batch, losses, correct);
  }
  found.score = found.score > 1 ? found.score : 1;
  own.end(found);
  return own.fault();
}

TEST(EvaluationOracle, TotalsAndStatisticsAreRecomputed) {
  EXPECT_EQ(fault_of_evaluation([](Evaluation&) {}), "");
  EXPECT_SAYS(fault_of_evaluation([](Evaluation& of) { of.images = 299; }),
              "299 images were validated, 300 were taken, and the set has 300");
  EXPECT_SAYS(fault_of_evaluation([](Evaluation& of) { of.score = 1.1; }), "accuracy 1.1 are not");
  EXPECT_SAYS(fault_of_evaluation([](Evaluation&) {}, 0.01),
              "validation has 0.25 as its statistic 0");
}

TEST(EvaluationOracle, LossesAndAnswersAreThoseOfTheLogits) {
  Session run(1, 8, 160);
  const BatchOracle data(DataClaims(run.claims(), run.definition().input, 1), 0);
  Executor& executor = run.evaluator->executor();
  run.evaluator->evaluate(*run.validation);  // puts statistics
  run.validation->start({}, 1);
  const Batch& batch = run.validation->next();
  put_batch(executor, batch.images, batch.labels);
  executor.run(Phase::forward);
  const auto fault = [&] {
    EvaluationOracle oracle(data, *run.ranks);
    oracle.judge_images(executor, batch);
    oracle.judge_results(executor, batch);
    return oracle.fault();
  };
  EXPECT_EQ(fault(), "");
  for (const ValueIndex value : {executor.graph().losses, executor.graph().correct}) {
    std::vector<double> right = read_values(executor, value);
    const auto put = [&] {
      executor.device().put(executor.tensor(value), [&](std::int64_t first, std::span<double> out) {
        std::copy_n(right.begin() + first, out.size(), out.begin());
      });
    };
    right[5] = value == executor.graph().losses ? right[5] + 1e-4 : 1 - right[5];
    put();
    EXPECT_SAYS(fault(), "image 5 of a validated batch");
    executor.run(Phase::forward);
  }
  std::vector<std::int64_t> labels(batch.labels.begin(), batch.labels.end());
  labels[3] = (labels[3] + 1) % 10;
  put_labels(executor, labels);
  EXPECT_SAYS(fault(), "the network has the label ");
}

/// Random steps: the rule of trainings, and the same with one wrong event.
TEST(ClaimedScale, FollowsTheRuleOfTrainings) {
  for (const char* text : {"none", "fixed:1024", "dynamic:256:5", "dynamic", "dynamic:16777216:2"})
    for (const bool lags : {false, true}) {
      LossScale scale(parse_loss_scale("--loss-scale", text));
      ClaimedScale claimed(text, lags);
      EXPECT_EQ(claimed.begin(scale.state(), false), "");
      std::mt19937 random(1);
      double waiting = 0;
      for (int step = 0; step < 3000; ++step) {
        const double made = lags ? waiting : scale.scale();
        waiting = scale.scale();
        if (made > 0) scale.update(random() % 7 != 0, made);
        ASSERT_EQ(claimed.step(scale.state()), "") << text << " " << step;
      }
      LossScaleState wrong = scale.state();
      wrong.scale *= 2;
      ++wrong.steps;
      EXPECT_SAYS(claimed.step(wrong), "the loss scale is ");
    }
}

/// Changes the first element of the weights of the last layer.
void change_byte(Trainer& trainer, ValueIndex value) {
  const Graph& graph = trainer.graph();
  const auto parameter = std::find_if(graph.parameters.begin(), graph.parameters.end(),
                                      [](const Parameter& of) { return of.name == "fc.weight"; });
  const auto at = static_cast<std::size_t>(parameter->offset) * size_of(graph.value(value).type);
  static_cast<std::byte*>(trainer.executor().memory(value).get())[at + 1] ^= std::byte{0x40};
}

TEST(StateOracle, AStateThatIsNotTheGeneratorsIsRefused) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    Session run(3, 8, 32, precision);
    Trainer& trainer = *run.trainer;
    const auto fault = [&](std::uint64_t seed = 3) {
      return find_fault_of_start(trainer, "d18w8s32c10", run.definition(), seed);
    };
    EXPECT_EQ(fault(), "") << name(precision);
    EXPECT_SAYS(fault(4), "begins as ");
    const Fingerprints before = take_fingerprints(trainer);
    EXPECT_EQ(difference(take_fingerprints(trainer), before), "");
    for (const ValueIndex value :
         {trainer.graph().weights, trainer.graph().velocity, trainer.graph().stored}) {
      if (value == Graph::none) continue;
      change_byte(trainer, value);
      EXPECT_NE(fault(), "") << name(precision);
      EXPECT_NE(difference(take_fingerprints(trainer), before), "");
      trainer.initialise();
      EXPECT_EQ(difference(take_fingerprints(trainer), before), "");
    }
    trainer.running_statistics()[0] = 1;
    EXPECT_SAYS(fault(), "moving averages");
  }
}

TEST(StateOracle, LayersAreThoseOfTheDescriptor) {
  for (const char* descriptor : {"d18w8s32c10", "d50w16s64c20"}) {
    const Graph graph =
        make_inference_graph(make_resnet(parse_resnet(descriptor)), 1, Precision::fp32);
    EXPECT_EQ(find_fault_of_layers(graph, descriptor, define_resnet(descriptor)), "");
  }
}

TEST(StateOracle, RanksHaveEqualWeights) {
  network_test::plugins();
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    const auto trainer = network_test::made(network_test::small_settings("native"), ranks);
    const Executor& executor = trainer->executor();
    EXPECT_EQ(find_fault_of_ranks(executor, ranks), "");
    const auto memory = executor.memory(executor.graph().weights);
    auto* const weights = static_cast<float*>(memory.get());
    const Parameter& filters = executor.graph().parameters.front();
    if (ranks.rank() == 2) weights[filters.offset] = std::nextafter(weights[filters.offset], 1.0F);
    EXPECT_EQ(find_fault_of_ranks(executor, ranks), "") << "a rounding";
    if (ranks.rank() == 2)
      for (std::int64_t i = 0; i < filters.elements(); ++i) weights[filters.offset + i] *= 1.1F;
    EXPECT_NE(find_fault_of_ranks(executor, ranks).find("other weights than rank 0"),
              std::string::npos);
  });
}

}  // namespace test_training_oracle
}  // namespace assay
