// Samples beside a device that tells its clock and its throttling.

#include "core/measure/device_watch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_device_watch {

using nlohmann::json;
using testing_fakes::ScriptedWorkload;

/// Runs of 30 us on a device whose state is written in a script.
class OnDevice : public ScriptedWorkload {
 public:
  using State = std::function<std::optional<DeviceState>(int reading)>;
  explicit OnDevice(State state)
      : ScriptedWorkload([](int) { return 30e-6; }), state_(std::move(state)) {}
  std::optional<DeviceState> device_state() override {
    std::optional<DeviceState> state = state_(++readings);
    if (state && heat_of_an_audit > 0)
      state->throttled_s["heat"] = heat_of_an_audit * static_cast<double>(audits.size());
    return state;
  }
  int readings = 0;
  double heat_of_an_audit = 0;  ///< seconds for which each audit is throttled

 private:
  State state_;
};

/// A clock that rises for so many readings.
OnDevice::State ramp(int steps) {
  return [=](int reading) {
    DeviceState state;
    state.clock_hz = 1e9 * (reading < steps ? 0.5 + 0.5 * reading / steps : 1);
    return state;
  };
}

Timing measured(OnDevice& workload) {
  TimingOptions options;
  options.longest_clock_wait = 0.1;
  return measure(workload, *make_serial_communicator(), options);
}

TEST(DeviceWatch, SamplesBeginWhenTheClockIsSteady) {
  OnDevice workload(ramp(5));
  TimingOptions options;
  options.longest_clock_wait = 3600;  // even of a busy machine
  const Timing timing = measure(workload, *make_serial_communicator(), options);
  // Readings 5, 6 and 7 agree; those before and after the samples follow, and around the audit
  // among them.
  EXPECT_EQ(workload.readings, 11);
  EXPECT_EQ(timing.device_state["before"]["clock_hz"], 1e9);
  EXPECT_EQ(timing.device_state.value("steady", json()), true);
  // The windows between the readings were of runs, which are no samples.
  OnDevice steady(ramp(0));
  const Timing at_once = measured(steady);
  EXPECT_EQ(steady.readings, 7);
  EXPECT_GT(timing.warmup_runs, 4);
  EXPECT_EQ(timing.samples.size(), at_once.samples.size());
}

TEST(DeviceWatch, AClockThatNeverSettlesIsWaitedForWithinABoundAndTold) {
  OnDevice workload([](int reading) {
    DeviceState state;
    state.clock_hz = 2e9 * std::pow(0.98, reading);
    return state;
  });
  const Timing timing = measured(workload);
  EXPECT_FALSE(timing.samples.empty());
  EXPECT_EQ(timing.device_state.value("steady", json()), false);
}

TEST(DeviceWatch, AClockThatSwingsIsNotAwaited) {
  // The clock is that of a card at its limit of power, which no wait makes steady.
  OnDevice workload([](int reading) {
    DeviceState state;
    state.clock_hz = reading < 5 ? 1e9 + 5e7 * reading : reading % 2 == 0 ? 1.3e9 : 1.35e9;
    return state;
  });
  TimingOptions options;
  options.longest_clock_wait = 5;
  const Timing timing = measure(workload, *make_serial_communicator(), options);
  EXPECT_EQ(workload.readings, 12) << "8 while it rises and swings, 4 around the samples";
  EXPECT_EQ(timing.device_state.value("steady", json()), false);
}

TEST(DeviceWatch, ADeviceWithoutAClockIsNotWaitedFor) {
  OnDevice silent([](int) { return std::nullopt; });
  const Timing timing = measured(silent);
  EXPECT_EQ(silent.readings, 5);
  EXPECT_TRUE(timing.device_state.is_null());
  OnDevice hot([](int) {
    DeviceState state;
    state.temperature_celsius = 60;
    return state;
  });
  const json state = measured(hot).device_state;
  EXPECT_EQ(hot.readings, 5);
  EXPECT_EQ(state["after"], json({{"temperature_celsius", 60.0}}));
  EXPECT_FALSE(state.contains("steady"));
  OnDevice broken([](int) -> std::optional<DeviceState> { throw CaseError("lost"); });
  EXPECT_TRUE(measured(broken).device_state.is_null());
}

TEST(DeviceWatch, ARunLongerThanTheWaitIsNotRepeatedForIt) {
  OnDevice workload(ramp(5));
  TimingOptions options;
  options.longest_clock_wait = 1e-9;
  const json state = measure(workload, *make_serial_communicator(), options).device_state;
  EXPECT_EQ(workload.readings, 5);
  EXPECT_FALSE(state.contains("steady")) << "it is not known";
}

TEST(DeviceWatch, ThrottledTimeIsWhatWasCountedMeanwhile) {
  OnDevice workload([](int reading) {
    DeviceState state;  // readings 2 and 3 are around the first samples, 4 and 5 around the others
    state.throttled_s = {{"power", 100 + 1e-3 * (reading == 3  ? 1
                                                 : reading > 3 ? reading
                                                               : 0)},
                         {"heat", reading >= 3 ? 1 : 2},            // the counter was set back
                         {"board limit", reading >= 3 ? 1e6 : 0}};  // in no unit of time
    if (reading >= 3) state.throttled_s["reliability"] = 1;
    return state;
  });
  const json state = measured(workload).device_state;
  EXPECT_EQ(state["throttled_s"].size(), 1U) << state;
  EXPECT_NEAR(state["throttled_s"]["power"].get<double>(), 2e-3, 1e-9);
  EXPECT_GT(state["seconds"], 0);
}

TEST(DeviceWatch, WhatThrottlesAnAuditIsNotTheSamples) {
  OnDevice workload([](int) { return DeviceState{}; });
  workload.heat_of_an_audit = 0.01;
  const json state = measured(workload).device_state;
  EXPECT_EQ(state["throttled_s"], json({{"heat", 0.0}})) << state;
}

TEST(DeviceWatch, ThePartIsTheLargestOfPowerAndHeat) {
  const std::map<std::string, double> throttled{{"power", 0.1}, {"heat", 0.3}, {"reliability", 2}};
  EXPECT_DOUBLE_EQ(compute_throttled_part(2, throttled), 0.15);
  EXPECT_EQ(compute_throttled_part(0, throttled), 0);
  EXPECT_EQ(compute_throttled_part(2, {}), 0);
}

TEST(DeviceWatch, OfSeveralRanksTheMostThrottledDeviceIsTold) {
  std::mutex guard;
  std::vector<json> states;
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    const int rank = ranks.rank();
    OnDevice workload([rank](int reading) -> std::optional<DeviceState> {
      if (rank == 2) return std::nullopt;
      DeviceState state;
      state.clock_hz = rank == 0 && reading % 2 == 0 ? 1e9 : 2e9;
      state.throttled_s["power"] = rank == 1 ? 1e-3 * reading : 0;
      return state;
    });
    TimingOptions options;
    options.longest_clock_wait = 0.1;
    const Timing timing = measure(workload, ranks, options);
    const std::lock_guard lock(guard);
    states.push_back(timing.device_state);
  });
  ASSERT_EQ(states.size(), 3U);
  for (const json& state : states) {
    EXPECT_EQ(state, states.front());
    EXPECT_NEAR(state["throttled_s"]["power"].get<double>(), 2e-3, 1e-9);
    EXPECT_EQ(state.value("steady", json()), false) << "rank 0 has not settled";
  }
}

}  // namespace test_device_watch
}  // namespace assay
