// A network that learns, by each backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_trainer {

using network_test::made;
using network_test::plugins;
using network_test::small_settings;

bool has(const std::string& backend) { return plugins().status(backend).available; }

TEST(Trainer, EqualsTheNetworkInFp64) {
  for (const char* backend : {"reference", "native", "onednn"}) {
    if (!has(backend)) continue;
    for (const ResnetShape& shape : {ResnetShape{18, 8, 32, 10}, ResnetShape{50, 4, 40, 7}}) {
      TrainerSettings settings = small_settings(backend);
      settings.network = make_resnet(shape);
      settings.learning.smoothing = 0.1;
      const Verification found = compare_with_reference(settings, plugins());
      EXPECT_TRUE(found.passed) << backend << ": " << found.reason;
      EXPECT_GT(found.checked, 1000);
    }
  }
}

TEST(Trainer, GradientsWhoseTermsCancelAreUndecided) {
  // The normalization behind that of the only channel takes out the scale of the first.
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    TrainerSettings settings = small_settings("native");
    settings.network = make_resnet({18, 1, 32, 10});
    settings.precision = precision;
    const Verification found = compare_with_reference(settings, plugins());
    EXPECT_TRUE(found.undecided && !found.passed) << found.reason;
    EXPECT_NE(found.reason.find("its terms cancel"), std::string::npos) << found.reason;
    EXPECT_EQ(found.wrong_elements, 0);
  }
}

TEST(Trainer, EveryNodePassesItsOracle) {
  const auto alone = make_serial_communicator();
  for (const char* backend : {"native", "onednn"}) {
    if (!has(backend)) continue;
    const auto trainer = made(small_settings(backend), *alone);
    load_random(*trainer, 5);
    StepCheck check;
    check.verification.passed = true;
    for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i) check.nodes.insert(i);
    for (int step = 0; step < 2; ++step) trainer->step(0.01, &check);
    EXPECT_TRUE(check.verification.passed) << backend << ": " << check.verification.reason;
    EXPECT_GT(check.verification.checked, 100000);
  }
}

TEST(Trainer, LearnsItsBatch) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small_settings("native"), *alone);
  load_random(*trainer, 5);
  trainer->step(0.01);
  const double first = trainer->loss();
  EXPECT_NEAR(first, std::log(10), 1.5);
  for (int step = 0; step < 30; ++step) trainer->step(0.01);
  EXPECT_LT(trainer->loss(), 0.2 * first);
  EXPECT_EQ(read_scores(trainer->executor()), std::vector<double>(4, 1));
  EXPECT_EQ(trainer->counts()[0], 0);
}

TEST(Trainer, StatesAreExchanged) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small_settings("native"), *alone);
  load_random(*trainer, 5);
  trainer->step(0.01);
  Trainer::State state;
  trainer->save(state);
  EXPECT_EQ(trainer->difference(state).relative, 0);
  trainer->step(0.01);
  const double second = trainer->loss();
  EXPECT_GT(trainer->difference(state).relative, 1e-3);
  trainer->swap_state(state);
  trainer->step(0.01);
  EXPECT_NEAR(trainer->loss(), second, 1e-6 * second);
  EXPECT_LT(trainer->difference(state).relative, 1e-5);
}

/// It finds differences of velocities, weights and 16-bit copies alike.
TEST(Trainer, EveryDifferenceOfStatesIsFound) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = small_settings("native");
  settings.precision = Precision::bf16;
  const auto trainer = made(settings, *alone);
  load_random(*trainer, 5);
  Trainer::State before, after;
  trainer->save(before);
  trainer->step(0.01);
  trainer->save(after);
  EXPECT_EQ(trainer->difference(after).relative, 0);
  Trainer::State lost = after;
  lost.values[1] = before.values[1];
  lost.values[2] = before.values[2];
  EXPECT_NEAR(trainer->difference(lost).relative, 1, 0.01);
  EXPECT_TRUE(trainer->difference(lost).what.starts_with("the update of "));
  lost = after;
  lost.values[2] = before.values[2];
  EXPECT_TRUE(std::isinf(trainer->difference(lost).relative));
  EXPECT_TRUE(trainer->difference(lost).what.starts_with("the 16-bit copy of "));
  // No number, in a parameter that others follow.
  const Parameter& first = trainer->graph().parameters.front();
  lost = after;
  std::fill_n(lost.values[0].begin() + 4 * static_cast<std::ptrdiff_t>(first.offset), 4,
              std::byte{0xff});
  EXPECT_TRUE(std::isnan(trainer->difference(lost).relative));
  EXPECT_EQ(trainer->difference(lost).what, "the velocity of " + first.name);
}

TEST(Trainer, ADifferenceOfSecondMomentsIsFound) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = small_settings("native");
  settings.learning.rule = UpdateRule::adam;
  const auto trainer = made(settings, *alone);
  load_random(*trainer, 5);
  Trainer::State before, after;
  trainer->save(before);
  trainer->step(0.001);
  trainer->save(after);
  EXPECT_EQ(trainer->difference(after).relative, 0);
  Trainer::State lost = after;
  lost.values.back() = before.values.back();
  EXPECT_TRUE(trainer->difference(lost).what.starts_with("the second moment of "));
  EXPECT_GT(trainer->difference(lost).relative, trainer->difference(lost).allowed);
  lost = after;
  lost.values[1] = before.values[1];
  EXPECT_TRUE(trainer->difference(lost).what.starts_with("the update of "));
  EXPECT_GT(trainer->difference(lost).relative, trainer->difference(lost).allowed);
}

TEST(Trainer, AStepTimedByNodesIsAStep) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small_settings("native"), *alone);
  load_random(*trainer, 5);
  Trainer::State begin;
  trainer->save(begin);
  trainer->step(0.01);
  Trainer::State state;
  trainer->save(state);
  trainer->swap_state(begin);
  const std::vector<double> seconds = trainer->time_step(0.01);
  EXPECT_LT(trainer->difference(state).relative, 1e-5);
  ASSERT_EQ(seconds.size(), trainer->graph().nodes.size());
  for (const double of_node : seconds) EXPECT_GT(of_node, 0);
}

TEST(Trainer, AStepInTwoPartsIsAStep) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = small_settings("native");
  settings.precision = Precision::bf16;
  settings.learning.rule = UpdateRule::adam;
  settings.loss_scale = {LossScaleSettings::Kind::dynamic, 64, 2};
  const auto whole = made(settings, *alone), parts = made(settings, *alone);
  for (Trainer* const trainer : {whole.get(), parts.get()}) load_random(*trainer, 5);
  for (int step = 0; step < 3; ++step) {
    whole->step(0.01);
    parts->start_step(0.01);
    EXPECT_THROW(parts->step(0.01), std::logic_error);
    Trainer::State early;
    EXPECT_THROW(parts->save(early), std::logic_error);
    EXPECT_EQ(parts->loss_scale().steps(), step) << "read before the step has ended";
    parts->finish_step();
    EXPECT_THROW(parts->finish_step(), std::logic_error);
    EXPECT_EQ(parts->loss_scale().state(), whole->loss_scale().state());
    ASSERT_TRUE(parts->device_seconds());
    EXPECT_GT(parts->seconds().backward, 0);
  }
  Trainer::State a, b;
  whole->save(a);
  parts->save(b);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.running, b.running);
  EXPECT_EQ(whole->loss(), parts->loss());
}

TEST(Trainer, TellsWhyTheHostTakesPartInAStep) {
  const auto alone = make_serial_communicator();
  const auto why = [&](auto change) {
    TrainerSettings settings = small_settings("native");
    change(settings);
    return made(settings, *alone)->why_host();
  };
  using Scale = LossScaleSettings::Kind;
  EXPECT_EQ(why([](TrainerSettings&) {}), "");
  EXPECT_EQ(why([](TrainerSettings& of) { of.learning.rule = UpdateRule::adam; }), "");
  EXPECT_EQ(why([](TrainerSettings& of) { of.loss_scale.kind = Scale::fixed; }), "");
  for (const auto& change :
       {+[](TrainerSettings& of) { of.loss_scale.kind = Scale::dynamic; },
        +[](TrainerSettings& of) {
          of.loss_scale.kind = Scale::fixed;
          of.learning.rule = UpdateRule::adam;
        },
        +[](TrainerSettings& of) { of.accumulate = 2; }, +[](TrainerSettings& of) { of.lag = 1; }})
    EXPECT_NE(why(change), "");
  TrainerSettings settings = small_settings("native");
  settings.lag = 1;
  EXPECT_THROW(made(settings, *alone)->start_step(0.01), std::logic_error);
}

TEST(Trainer, WhatAStepDoesNotComputeShows) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small_settings("native"), *alone);
  load_random(*trainer, 5);
  trainer->executor().poison();
  trainer->step(0.01);
  EXPECT_TRUE(std::isfinite(trainer->loss()));
  EXPECT_EQ(trainer->counts()[0], 0);
  // A layer of the backward pass is left out.
  trainer->executor().poison();
  Executor& executor = trainer->executor();
  executor.run(Phase::forward);
  const auto& nodes = trainer->graph().nodes;
  bool left_out = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].phase == Phase::forward) continue;
    if (nodes[i].text() == "layer3.0.conv1 bwd_weights") {
      left_out = true;
      continue;
    }
    executor.run_node(i);
  }
  EXPECT_TRUE(left_out);
  EXPECT_GT(trainer->counts()[0], 0);
}

TEST(Trainer, MeasuredChoicesComputeTheSame) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = small_settings("native");
  settings.executor.measured = true;
  const auto trainer = made(settings, *alone);
  load_random(*trainer, 5);
  trainer->prepare();
  settings.executor.chosen = trainer->executor().list_chosen();
  const Verification found = compare_with_reference(settings, plugins());
  EXPECT_TRUE(found.passed) << found.reason;
}

TEST(Trainer, MovingAveragesAreOfUnbiasedVariances) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small_settings("native"), *alone);
  load_random(*trainer, 5);
  const std::vector<double> before = trainer->running_statistics();
  trainer->step(0.01);
  const std::vector<double> batch =
      read_values(trainer->executor(), trainer->graph().batch_statistics);
  const Statistics& of = trainer->graph().statistics.front();
  const double m = 4 * 16 * 16;
  const auto mean = static_cast<std::size_t>(of.mean),
             variance = static_cast<std::size_t>(of.variance);
  EXPECT_NEAR(trainer->running_statistics()[mean], 0.1 * batch[mean], 1e-12);
  EXPECT_NEAR(trainer->running_statistics()[variance],
              0.9 * before[variance] + 0.1 * batch[variance] * m / (m - 1), 1e-12);
}

/// The state is that of ranks, which had another network before.
TEST(Trainer, MemoryOfGradientsMayHaveBeenUsed) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = small_settings("native");
  const Graph graph =
      make_training_graph(settings.network, settings.batch, settings.precision, settings.learning);
  const auto count = static_cast<std::size_t>(graph.elements(graph.gradients));
  const auto used = std::make_shared<std::vector<float>>(count + 16, 1e30F);
  auto* const line = reinterpret_cast<float*>(  // memory of tensors begins on a cache line
      (reinterpret_cast<std::uintptr_t>(used->data()) + 63) / 64 * 64);
  settings.executor.memory[graph.gradients] = {used, line};
  const auto trainer = made(settings, *alone);
  load_random(*trainer, 5);
  trainer->step(0.01);
  EXPECT_TRUE(std::isfinite(trainer->loss()));
  // The bias of 10 classes lies first, and fills its cache line with what is none.
  EXPECT_EQ(read_values(trainer->executor(), trainer->graph().weights)[10], 0);
}

TEST(Trainer, RefusesWhatNoBackendHas) {
  const auto alone = make_serial_communicator();
  TrainerSettings settings = small_settings("native");
  settings.executor.backends = {"native"};
  const auto trainer = Trainer::make(settings, plugins(), *alone);
  ASSERT_TRUE(std::holds_alternative<Unsupported>(trainer));
  EXPECT_NE(std::get<Unsupported>(trainer).reason.find("no backend computes"), std::string::npos);
}

}  // namespace test_trainer
}  // namespace assay
