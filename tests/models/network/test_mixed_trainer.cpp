// Training with 16-bit activations: scaled losses, skipped steps, and what narrow numbers lose.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/network/concerns.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_mixed_trainer {

using network_test::made;
using network_test::plugins;
using network_test::small_settings;

constexpr Precision narrow[] = {Precision::bf16, Precision::fp16};
constexpr const char* backends[] = {"native", "onednn"};

bool has(const std::string& backend) { return plugins().status(backend).available; }

TrainerSettings mixed_settings(const std::string& backend, Precision precision,
                               const std::string& scale = "none") {
  TrainerSettings settings = small_settings(backend);
  settings.precision = precision;
  settings.loss_scale = parse_loss_scale("--loss-scale", scale);
  return settings;
}

TEST(MixedTrainer, EqualsTheNetworkInFp64) {
  for (const char* backend : backends) {
    if (!has(backend)) continue;
    for (const Precision precision : narrow)
      for (const ResnetShape& shape : {ResnetShape{18, 8, 32, 10}, ResnetShape{50, 4, 40, 7}})
        for (const bool gradients : {false, true}) {
          TrainerSettings settings = mixed_settings(backend, precision, "dynamic");
          settings.network = make_resnet(shape);
          settings.learning.narrow_gradients = gradients;
          const Verification found = compare_with_reference(settings, plugins());
          EXPECT_TRUE(found.passed) << backend << " " << name(precision) << ": " << found.reason;
          // The numbers are not the same: 16 bits were stored.
          EXPECT_GT(found.norm_error, 1e-3);
        }
  }
}

/// Gradients of filters that were made in 16 bits have but these, and all others more.
TEST(MixedTrainer, GradientsOfFiltersAreMadeIn16Bits) {
  const auto alone = make_serial_communicator();
  for (const Precision precision : narrow)
    for (const bool gradients : {false, true}) {
      TrainerSettings settings = mixed_settings("native", precision, "fixed:256");
      settings.learning.narrow_gradients = gradients;
      const auto trainer = made(settings, *alone);
      load_random(*trainer, 5);
      trainer->step(0.01);
      for (const Parameter& of : trainer->graph().parameters) {
        const std::vector<double> all = read_values(trainer->executor(), of.gradient);
        const bool rounded = std::ranges::all_of(
            all, [&](double value) { return value == round_to(storage(precision), value); });
        EXPECT_EQ(rounded, gradients && of.dims.size() == 4) << of.name;
      }
    }
}

TEST(MixedTrainer, EmulatedArithmeticIsWide) {
  const auto alone = make_serial_communicator();
  for (const Precision precision : narrow) {
    // Another backend computes the operations that oneDNN would compute in 16 bits.
    TrainerSettings settings = mixed_settings("onednn", precision, "dynamic");
    settings.executor.wide_products = true;
    const auto trainer = made(settings, *alone);
    const Executor& executor = trainer->executor();
    for (std::size_t i = 0; i < executor.graph().nodes.size(); ++i) {
      if (executor.graph().nodes[i].problem->flops() == 0) continue;
      const std::string compute = executor.execution(i).compute;
      EXPECT_TRUE(compute == "fp32" || compute == "fp64")
          << executor.graph().nodes[i].text() << ": " << compute;
    }
    // And stores 16 bits all the same.
    EXPECT_EQ(executor.graph().value(executor.graph().images).type, storage(precision));
    const Verification found = compare_with_reference(settings, plugins());
    EXPECT_TRUE(found.passed) << name(precision) << ": " << found.reason;
    EXPECT_GT(found.norm_error, 1e-4);
  }
}

TEST(MixedTrainer, EveryNodePassesItsOracle) {
  const auto alone = make_serial_communicator();
  for (const char* backend : backends) {
    if (!has(backend)) continue;
    for (const Precision precision : narrow) {
      TrainerSettings settings = mixed_settings(backend, precision, "fixed:256");
      settings.learning.narrow_gradients = true;
      const auto trainer = made(settings, *alone);
      load_random(*trainer, 5);
      StepCheck check;
      check.verification.passed = true;
      for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i) check.nodes.insert(i);
      trainer->step(0.01, &check);
      EXPECT_TRUE(check.verification.passed)
          << backend << " " << name(precision) << ": " << check.verification.reason;
      EXPECT_EQ(trainer->loss_scale().skipped(), 0);
      EXPECT_GT(check.verification.checked, 100000);
    }
  }
}

/// The losses of ten small steps of a network whose blocks begin as small changes: without these,
/// rounding alone takes training elsewhere.
std::vector<double> losses(TrainerSettings settings) {
  settings.learning.last_norm = 0.1;
  settings.batch = 8;
  const auto alone = make_serial_communicator();
  const auto trainer = made(settings, *alone);
  load_random(*trainer, 5);
  std::vector<double> all;
  for (int step = 0; step < 10; ++step) {
    trainer->step(0.001);
    all.push_back(trainer->loss());
  }
  return all;
}

/// Ten steps from the same weights and images, by each backend, against fp32 (native).
TEST(MixedTrainer, LearnsAsFp32Does) {
  const std::vector<double> should = losses(mixed_settings("native", Precision::fp32));
  EXPECT_LT(should.back(), 0.93 * should.front());
  for (const char* backend : backends) {
    if (!has(backend)) continue;
    for (const Precision precision : narrow)
      for (const bool gradients : {false, true}) {
        TrainerSettings settings = mixed_settings(backend, precision, "fixed:256");
        settings.learning.narrow_gradients = gradients;
        const std::vector<double> is = losses(settings);
        // Seen: 0.003 and 0.0006.
        const double tolerance = precision == Precision::bf16 ? 0.01 : 0.002;
        for (std::size_t step = 0; step < is.size(); ++step)
          EXPECT_NEAR(is[step], should[step], tolerance * should[step])
              << backend << " " << name(precision) << " step " << step;
      }
  }
}

/// A power of two times all gradients changes no rounding of fp32, and the update takes it off.
TEST(MixedTrainer, ScalesCancel) {
  const auto alone = make_serial_communicator();
  Trainer::State plain;
  const auto first = made(mixed_settings("native", Precision::fp32), *alone);
  const auto second = made(mixed_settings("native", Precision::fp32, "fixed:1024"), *alone);
  for (Trainer* trainer : {first.get(), second.get()}) {
    load_random(*trainer, 5);
    for (int step = 0; step < 2; ++step) trainer->step(0.01);
  }
  first->save(plain);
  EXPECT_EQ(second->difference(plain).relative, 0);
  EXPECT_EQ(second->loss_scale().scale(), 1024);
}

TEST(MixedTrainer, StepsThatOverflowAreSkipped) {
  const auto alone = make_serial_communicator();
  const auto trainer =
      made(mixed_settings("native", Precision::fp16, "dynamic:16777216:2"), *alone);
  load_random(*trainer, 5);
  Trainer::State before;
  trainer->save(before);
  const std::vector<double> weights = read_values(trainer->executor(), trainer->graph().weights);
  Concerns concerns;
  trainer->step(0.01);
  concerns.add(*trainer);
  EXPECT_TRUE(trainer->lowered());
  EXPECT_EQ(trainer->loss_scale().scale(), 8388608);
  EXPECT_EQ(read_values(trainer->executor(), trainer->graph().weights), weights);
  EXPECT_EQ(trainer->difference(before).relative, 0);
  EXPECT_GT(concerns.metrics().at("gradients_not_finite").value, 0);
  EXPECT_EQ(concerns.metrics().at("steps_skipped").value, 1);
  // The state that was saved has the scale of its time.
  trainer->swap_state(before);
  EXPECT_EQ(trainer->loss_scale().scale(), 16777216);
  EXPECT_EQ(trainer->loss_scale().skipped(), 0);
  for (int step = 0; step < 40; ++step) trainer->step(0.01);
  EXPECT_GT(trainer->loss_scale().skipped(), 1);  // on the way down, and at times thereafter
  EXPECT_LT(trainer->loss_scale().skipped(), 25);
  EXPECT_LT(trainer->loss(), 0.5);
}

/// A gradient that was not computed is finite with no scale: it ends at 1, where no step is
/// forgiven.
TEST(MixedTrainer, WhatIsNotComputedIsNotForgiven) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(mixed_settings("native", Precision::fp16, "dynamic:4"), *alone);
  load_random(*trainer, 5);
  // Images that are no numbers stand for a layer that was left out.
  trainer->load([](std::int64_t, std::span<double> out) { std::fill(out.begin(), out.end(), NAN); },
                std::vector<std::int64_t>(4));
  for (const bool lowered : {true, true, false}) {
    trainer->step(0.01);
    EXPECT_EQ(trainer->lowered(), lowered);
    EXPECT_GT(trainer->counts()[0], 0);
  }
  EXPECT_TRUE(trainer->loss_scale().has_diverged());
}

TEST(MixedTrainer, CountsWhatNarrowNumbersLose) {
  const auto alone = make_serial_communicator();
  const auto percent = [&](Precision precision, const std::string& scale, double rate,
                           const char* metric) {
    TrainerSettings settings = mixed_settings("native", precision, scale);
    settings.network =
        make_resnet({18, 8, 64, 10});  // no tap reads padding alone, whose gradient would be 0
    const auto trainer = made(settings, *alone);
    load_random(*trainer, 5);
    Concerns concerns;
    trainer->step(rate);
    concerns.add(*trainer);
    return concerns.metrics().at(metric).value;
  };
  // Rectifiers that are off give zeros, and few.
  EXPECT_LT(percent(Precision::bf16, "none", 0.01, "gradients_zero_percent"), 10);
  EXPECT_LT(percent(Precision::bf16, "none", 0.01, "weights_stale_percent"), 1);
  EXPECT_GT(percent(Precision::bf16, "none", 1e-9, "weights_stale_percent"), 90);
  EXPECT_EQ(percent(Precision::bf16, "none", 0.01, "steps_skipped"), 0);
  const auto wide = made(mixed_settings("native", Precision::fp32), *alone);
  load_random(*wide, 5);
  wide->step(0.01);
  Concerns none;
  none.add(*wide);
  EXPECT_TRUE(none.metrics().empty());
}

}  // namespace test_mixed_trainer
}  // namespace assay
