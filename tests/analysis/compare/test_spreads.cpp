#include <gtest/gtest.h>

#include <cmath>

#include "analysis/compare/verdict.hpp"
#include "tests/analysis/compare/simulation.hpp"

namespace assay {
namespace test_spreads {

std::vector<double> times(std::vector<double> logs) {
  for (double& value : logs) value = std::exp(value / 10);
  return logs;
}

TEST(Spreads, TheTrimmedTestIsThatOfTheTextbooks) {
  // Computed from Yuen's definition in Python, Student's density integrated by Simpson's rule. (The
  // data are those of the documentation of scipy.stats.ttest_ind; the test has no scale.)
  const auto a = times({56, 128.6, 12, 123.8, 64.34, 78, 763.3}), b = times({1.1, 2.9, 4.2});
  EXPECT_NEAR(compute_trimmed_welch_p(a, b), 0.00998909252078, 1e-12);
  EXPECT_NEAR(compute_trimmed_welch_p(times({1, 2, 3, 4, 5, 6, 7, 8, 9, 100}),
                                      times({5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5, 10, 60})),
              0.13505087878431, 1e-12);
  EXPECT_DOUBLE_EQ(compute_trimmed_welch_p(a, b), compute_trimmed_welch_p(b, a));
}

TEST(Spreads, WithoutAnySpread) {
  const std::vector<double> low(5, 1.0), high(5, 1.1), alone{1.0};
  EXPECT_EQ(compute_trimmed_welch_p(low, low), 1);
  EXPECT_EQ(compute_trimmed_welch_p(low, high), 0);
  EXPECT_EQ(compute_trimmed_welch_p(alone, high), 1);
  EXPECT_DOUBLE_EQ(compare_fresh(low, high, 0.95).p, compare_launches(low, high, 0.95).p);
}

/// Rate at which fresh launches without a change show one at 0.001, in parts of 0.001.
template <class Test>
double size_of(double spread, Test test) {
  simulation::Random random(31);
  simulation::Setting setting;
  setting.spread = spread;
  int shown = 0;
  constexpr int trials = 40000;
  for (int i = 0; i < trials; ++i) {
    const auto sides = simulation::measure(random, setting, 0.01, 0, fresh_launches);
    shown += test(sides.base, sides.updated, compare_confidence).p <= 0.001;
  }
  return shown / (0.001 * trials);
}

TEST(Spreads, FreshLaunchesHoldTheRateOfUnequalSpreads) {
  // 40 are expected of 40,000; 61 is the 99.9 % bound of the binomial.
  for (const double spread : {1.0, 1 / 3.0, 5.0, 10.0})
    EXPECT_LE(size_of(spread, compare_fresh), 61.0 / 40) << spread;
  // The rank sum alone does not: what this is for.
  EXPECT_GT(size_of(5, compare_launches), 2.5);
}

TEST(Spreads, TheDetectableChangeIsFoundAsOftenAsItSays) {
  for (const simulation::Noise noise : {simulation::Noise::normal, simulation::Noise::heavy_tailed})
    for (const double spread : {1.0, 3.0}) {
      simulation::Random random(37);
      simulation::Setting setting;
      setting.noise = noise;
      setting.spread = spread;
      std::vector<double> estimates;
      for (int i = 0; i < 400; ++i) {
        const auto sides = simulation::measure(random, setting, 0.01, 0, fresh_launches);
        estimates.push_back(*fresh_detectable(sides.base, sides.updated, 0.001, compare_power));
      }
      const double change = median(estimates);
      int detected = 0;
      for (int i = 0; i < 1000; ++i) {
        const auto sides = simulation::measure(random, setting, 0.01, change, fresh_launches);
        detected += compare_fresh(sides.base, sides.updated, compare_confidence).p <= 0.001;
      }
      EXPECT_GE(detected, 700) << name_of(noise) << " " << spread << " " << change;
      EXPECT_LE(detected, 950) << name_of(noise) << " " << spread << " " << change;
    }
}

}  // namespace test_spreads
}  // namespace assay
