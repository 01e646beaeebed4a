// Whether the error rates that `assay compare` declares are those it has. The figures of all
// settings: tests/self_benchmark/calibration_*.cpp.

#include <gtest/gtest.h>

#include "tests/analysis/compare/simulation.hpp"

namespace assay::simulation {
namespace {

void hold_rate(int suites) {
  for (const Noise noise : all_noises)
    for (const double tolerance : {0.02, 0.0}) {  // with 0 every detection is an alarm
      Setting setting;
      setting.noise = noise;
      setting.tolerance = tolerance;
      const Alarms found = alarms(setting, suites, 17);
      EXPECT_LE(found.with_alarm, bound(suites, setting.rate)) << name_of(noise) << tolerance;
      EXPECT_LE(found.with_detection, bound(suites, setting.rate)) << name_of(noise) << tolerance;
    }
}

TEST(Calibration, FalseAlarmsStayBelowTheDeclaredRate) { hold_rate(1000); }
TEST(Calibration, FalseAlarmsStayBelowTheDeclaredRateFull) {
  EXPECT_NEAR(bound(5000, 0.01), 73, 1);
  hold_rate(5000);
}

TEST(Calibration, TheTestHasTeeth) {
  // Without fresh launches, taking what was flagged for found, nearly every suite alarms …
  Random random(18);
  int alarmed = 0;
  for (int i = 0; i < 50; ++i) alarmed += run(random, Setting{}).flagged > 0;
  EXPECT_GE(alarmed, 49);
  // … and so it does when the machine drifts and the sides do not alternate.
  Setting apart;
  apart.noise = Noise::drifting;
  apart.interleaved = false;
  EXPECT_GT(alarms(apart, 50, 19).with_alarm, 25);
}

TEST(Calibration, ConfirmationIsNotIdle) {
  // An exact test that never fires would hold any rate: with one row and no tolerance the alarms
  // come near the declared rate times the screen's.
  Setting one;
  one.rows = 1;
  one.tolerance = 0;
  one.rate = 0.5;
  const Alarms found = alarms(one, 4000, 20);
  const double expected = 0.095 * 0.5 * 4000;  // the screen's exact size at 5 + 5 is 0.0952
  EXPECT_NEAR(found.with_alarm, expected, 6 * std::sqrt(expected));
}

TEST(Calibration, FivePercentIsFoundWhereLaunchesVaryByOne) {
  for (const Noise noise : {Noise::normal, Noise::heavy_tailed, Noise::autocorrelated})
    for (const double change : {0.05, -0.05}) {
      Setting setting;
      setting.noise = noise;
      setting.variation = 0.01;
      setting.change = change;
      EXPECT_GE(power(setting, 300, 21), 0.95) << name_of(noise) << " " << change;
    }
}

TEST(Calibration, WhatIsToleratedIsNoAlarm) {
  Setting setting;
  setting.variation = 0.003;
  setting.change = 0.01;  // real, found, and tolerated at 2 %
  Random random(22);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(run(random, setting).first, Verdict::same);
}

}  // namespace
}  // namespace assay::simulation
