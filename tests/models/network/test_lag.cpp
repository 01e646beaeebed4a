// Gradient lag: a step's update has the gradients of the step before.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "models/network/concerns.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_lag {

using network_test::made;
using network_test::small_settings;

TrainerSettings lagging(std::int64_t lag = 1) {
  TrainerSettings of = small_settings("native");
  of.executor.threads = 1;
  of.lag = lag;
  return of;
}

std::vector<double> weights_of(Trainer& trainer) {
  return read_values(trainer.executor(), trainer.graph().weights);
}

std::uint64_t images_of(std::int64_t step) { return 10 + static_cast<std::uint64_t>(step); }

double norm_of_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

StepCheck sum_check(std::uint64_t seed) {
  StepCheck check;
  check.verification.passed = true;
  check.gradient_sum = true;
  check.seed = seed;
  return check;
}

/// SGD with momentum whose gradients are kept for `lag` steps, from the same network's backward
/// pass: the weights after each step, each made with its own images and its own rate.
std::vector<std::vector<double>> delayed_sgd(const std::vector<double>& rates, std::size_t lag) {
  const auto alone = make_serial_communicator();
  const auto network = made(lagging(0), *alone);
  const Graph& graph = network->graph();
  std::vector<double> w = weights_of(*network), v(w.size()), decay(w.size());
  for (const Parameter& parameter : graph.parameters)
    if (parameter.decays) std::fill_n(decay.begin() + parameter.offset, parameter.elements(), 1e-4);
  std::vector<std::vector<double>> gradients, all;
  for (std::size_t step = 0; step < rates.size(); ++step) {
    Executor& executor = network->executor();
    executor.device().put(executor.tensor(graph.weights),
                          [&](std::int64_t first, std::span<double> out) {
                            std::copy_n(w.begin() + first, out.size(), out.begin());
                          });
    load_random(*network, images_of(static_cast<std::int64_t>(step)));
    network->make_gradients();
    gradients.push_back(read_values(executor, graph.gradients));
    if (step >= lag)
      for (std::size_t i = 0; i < w.size(); ++i) {
        v[i] = 0.9 * v[i] + gradients[step - lag][i] + decay[i] * w[i];
        w[i] -= rates[step] * v[i];
      }
    all.push_back(w);
  }
  return all;
}

/// The update of step s has the gradients of step s - 1, and the rate of step s.
TEST(Lag, IsSgdWithDelayedGradients) {
  const std::vector<double> rates{0.01, 0.02, 0.005, 0.01, 0.015};
  const auto alone = make_serial_communicator();
  const auto trainer = made(lagging(), *alone);
  const std::vector<double> begin = weights_of(*trainer);
  const auto should = delayed_sgd(rates, 1), other = delayed_sgd(rates, 0);
  for (std::size_t step = 0; step < rates.size(); ++step) {
    load_random(*trainer, images_of(static_cast<std::int64_t>(step)));
    trainer->executor().poison();
    StepCheck check = sum_check(step);
    for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i) check.nodes.insert(i);
    trainer->step(rates[step], &check);
    EXPECT_TRUE(check.verification.passed) << check.verification.reason;
    EXPECT_EQ(trainer->has_updated(), step > 0);
    const std::vector<double> is = weights_of(*trainer);
    if (step == 0) {
      EXPECT_EQ(is, begin);  // nothing waits for an update
      continue;
    }
    const double moved = norm_of_difference(should[step], begin);
    EXPECT_LT(norm_of_difference(is, should[step]), 1e-3 * moved) << step;
    EXPECT_GT(norm_of_difference(is, other[step]), 0.1 * moved) << step;  // a test of something
  }
}

TEST(Lag, AddsUpBatchesOfAStep) {
  const auto alone = make_serial_communicator();
  const auto learnt = [&](std::int64_t lag) {
    TrainerSettings of = lagging(lag);
    of.accumulate = 2;
    const auto trainer = made(of, *alone);
    std::int64_t pass = 0;
    const auto load = [&] { load_random(*trainer, images_of(pass++)); };
    for (std::uint64_t step = 0; step < 2; ++step) {
      load();
      trainer->executor().poison();
      StepCheck check = sum_check(step);
      for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i) check.nodes.insert(i);
      trainer->step(0.01, &check, load);
      EXPECT_TRUE(check.verification.passed) << check.verification.reason;
      // The first two batches' update, without or with a lag; the second one is not made.
      if (lag == 0) break;
    }
    return weights_of(*trainer);
  };
  EXPECT_EQ(learnt(1), learnt(0));
}

/// A state has the gradients that wait, and what each rank had of them.
TEST(Lag, StatesHaveTheGradientsThatWait) {
  const auto alone = make_serial_communicator();
  const auto first = made(lagging(), *alone), second = made(lagging(), *alone);
  const auto step = [](Trainer& trainer, std::int64_t which) {
    load_random(trainer, images_of(which));
    StepCheck check = sum_check(static_cast<std::uint64_t>(which));
    trainer.step(0.01, &check);
    EXPECT_TRUE(check.verification.passed) << check.verification.reason;
    return check.verification.checked;
  };
  for (int i = 0; i < 3; ++i) step(*first, i);
  Trainer::State state, again, without;
  first->save(state);
  again = without = state;
  step(*first, 3);
  second->swap_state(state);
  EXPECT_EQ(state.waiting_scale, 0) << "a new trainer has no gradients that wait";
  EXPECT_GT(step(*second, 3), 63);
  EXPECT_EQ(weights_of(*second), weights_of(*first));
  // The same step from the same state once more, in the same trainer.
  const std::vector<double> learnt = weights_of(*first);
  step(*first, 4);
  first->swap_state(again);
  step(*first, 3);
  EXPECT_EQ(weights_of(*first), learnt);
  std::fill(without.values.back().begin(), without.values.back().end(), std::byte{0});
  without.own = {};
  second->swap_state(without);
  step(*second, 3);
  EXPECT_NE(weights_of(*second), learnt);
  // A scale that this run cannot have: no power of two, or another than its own.
  for (const double scale : {3.0, 2.0}) {
    without.waiting_scale = scale;
    EXPECT_THROW(second->swap_state(without), InputError) << scale;
  }
  TrainerSettings of = lagging();
  of.loss_scale = parse_loss_scale("--loss-scale", "fixed:2");
  const auto fixed = made(of, *alone);
  fixed->save(state);
  state.waiting_scale = 4;
  EXPECT_THROW(fixed->swap_state(state), InputError);
  state.waiting_scale = 2;
  fixed->swap_state(state);
  const auto at_once = made(lagging(0), *alone);
  at_once->save(state);
  state.waiting_scale = 1;
  EXPECT_THROW(at_once->swap_state(state), InputError);
}

/// A new beginning has no gradients that wait.
TEST(Lag, InitialiseForgetsGradients) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(lagging(), *alone);
  load_random(*trainer, 5);
  for (int i = 0; i < 2; ++i) trainer->step(0.01);
  trainer->initialise();
  const std::vector<double> begin = weights_of(*trainer);
  trainer->step(0.01);
  EXPECT_EQ(weights_of(*trainer), begin);
  EXPECT_FALSE(trainer->has_updated());
}

/// The tensor that the update reads is compared with the gradients before the step: here it is the
/// gradients of two steps before.
TEST(Lag, AnUpdateByAnotherStepsGradientsIsFound) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(lagging(), *alone);
  for (std::int64_t step = 0; step < 3; ++step) {
    load_random(*trainer, images_of(step));
    if (step == 2) trainer->executor().swap_gradients();
    StepCheck check = sum_check(static_cast<std::uint64_t>(step));
    trainer->step(0.01, &check);
    EXPECT_EQ(check.verification.passed, step < 2) << step;
    if (step == 2) {
      EXPECT_NE(check.verification.reason.find("of the sum of gradients of the step before"),
                std::string::npos)
          << check.verification.reason;
    }
  }
}

/// A step whose own gradients nobody asked to check may be the one before a checked step.
TEST(Lag, TheSumOfAnUncheckedStepIsComparedInTheNext) {
  const auto alone = make_serial_communicator();
  for (const bool swapped : {false, true}) {
    const auto trainer = made(lagging(), *alone);
    for (std::int64_t step = 0; step < 2; ++step) {
      load_random(*trainer, images_of(step));
      trainer->step(0.01);
    }
    load_random(*trainer, images_of(2));
    if (swapped) trainer->executor().swap_gradients();
    StepCheck check = sum_check(2);
    trainer->step(0.01, &check);
    EXPECT_GT(check.verification.checked, 63);
    EXPECT_EQ(check.verification.passed, !swapped);
  }
}

/// A scale that changes in every step is taken off as it was when the gradients were made.
TEST(Lag, UnscalesByTheScaleOfItsGradients) {
  const auto alone = make_serial_communicator();
  TrainerSettings of = lagging();
  const auto plain = made(of, *alone);
  of.loss_scale = parse_loss_scale("--loss-scale", "dynamic:256:1");
  const auto scaled = made(of, *alone);
  for (Trainer* const trainer : {plain.get(), scaled.get()})
    for (std::int64_t step = 0; step < 4; ++step) {
      load_random(*trainer, images_of(step));
      trainer->step(0.01);
    }
  EXPECT_EQ(scaled->loss_scale().scale(), 256 * 8);  // three updates
  EXPECT_EQ(weights_of(*scaled), weights_of(*plain));
}

/// The step that would learn them is skipped; of gradients that were made before the scale fell,
/// too, but that lowers it no further.
TEST(Lag, GradientsThatOverflowAreSkipped) {
  const auto alone = make_serial_communicator();
  TrainerSettings of = lagging();
  of.precision = Precision::fp16;
  of.loss_scale = parse_loss_scale("--loss-scale", "dynamic:16777216:2");
  const auto trainer = made(of, *alone);
  load_random(*trainer, 5);
  const std::vector<double> begin = weights_of(*trainer);
  Concerns concerns;
  trainer->step(0.01);
  concerns.add(*trainer);
  EXPECT_TRUE(concerns.metrics().empty());
  EXPECT_FALSE(trainer->lowered());
  EXPECT_TRUE(trainer->has_overflowed()) << "the next step will be skipped";
  const double scales[] = {8388608, 8388608, 4194304, 4194304};
  for (const double scale : scales) {
    trainer->step(0.01);
    concerns.add(*trainer);
    EXPECT_TRUE(trainer->lowered());
    EXPECT_TRUE(trainer->has_overflowed());
    EXPECT_EQ(trainer->loss_scale().scale(), scale);
    EXPECT_EQ(weights_of(*trainer), begin);
  }
  EXPECT_EQ(concerns.metrics().at("steps_skipped").value, 4);
  const double first = trainer->loss();
  for (int step = 0; step < 80; ++step) trainer->step(0.005);
  EXPECT_LT(trainer->loss(), 0.5 * first);
  EXPECT_LT(trainer->loss_scale().skipped(), 60);
}

}  // namespace test_lag
}  // namespace assay
