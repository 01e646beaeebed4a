#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <random>

#include "analysis/history/change_points.hpp"

namespace assay {
namespace test_change_points {

std::vector<std::size_t> places(const std::vector<ChangePoint>& changes) {
  std::vector<std::size_t> indices;
  for (const ChangePoint& change : changes) indices.push_back(change.index);
  return indices;
}

using Places = std::vector<std::size_t>;

/// Logarithms of times: noise of 1 %, first-order autocorrelation `phi`.
std::vector<double> noise(std::mt19937_64& random, const std::string& kind, std::size_t n) {
  std::normal_distribution<> normal;
  std::student_t_distribution<> heavy(3);
  std::uniform_real_distribution<> uniform;
  const double phi = kind.starts_with("ar") ? 0.3 : 0;
  std::vector<double> values;
  double state = 0;
  for (std::size_t i = 0; i < n + 20; ++i) {
    double step = normal(random);
    if (kind == "log-normal") step = std::exp(step);
    if (kind == "heavy tails" || kind == "ar, heavy tails") step = heavy(random);
    if (kind == "outliers" && uniform(random) < 0.05) step *= 10;
    if (kind == "two modes") step = 0.3 * step + (uniform(random) < 0.3 ? 3 : 0);
    state = phi * state + step;
    if (i >= 20) values.push_back(0.01 * state);
  }
  return values;
}

constexpr double rate = 0.05;  // of a history
constexpr std::size_t series = 100, points = 50;
constexpr double level = rate / series;

TEST(ChangePoints, FalseAlarmsStayAtTheDeclaredRate) {
  constexpr int histories = 40;
  // A history is counted when any of its series has a change point: at most `rate` of them, by the
  // 99.9 % bound of the binomial.
  const double bound = boost::math::quantile(
      boost::math::complement(boost::math::binomial_distribution<>(histories, rate), 0.001));
  for (const char* kind : {"normal", "log-normal", "heavy tails", "outliers", "two modes",
                           "ar, normal", "ar, heavy tails"}) {
    std::mt19937_64 random(20261121);
    int alarms = 0;
    for (int h = 0; h < histories; ++h) {
      bool any = false;
      for (std::size_t s = 0; s < series; ++s)
        any = !find_change_points(noise(random, kind, points), level, s).empty() || any;
      alarms += any;
    }
    EXPECT_LE(alarms, bound) << kind;
    std::cout << kind << ": " << alarms << " of " << histories << " histories\n";
  }
}

TEST(ChangePoints, AStepIsFoundWithinFourPoints) {
  std::mt19937_64 random(5);
  int detected = 0, exact = 0;
  constexpr int trials = 200;
  for (int t = 0; t < trials; ++t) {
    std::vector<double> values = noise(random, "normal", points);
    for (std::size_t i = points - 4; i < points; ++i) values[i] += std::log(1.05);
    const auto changes = places(find_change_points(values, level, 1));
    detected += !changes.empty();
    exact += changes == Places{points - 4};
  }
  std::cout << detected << " of " << trials << ", " << exact << " at its place\n";
  EXPECT_GE(detected, 0.85 * trials);
  EXPECT_GE(exact, 0.8 * trials);
}

TEST(ChangePoints, Steps) {
  std::mt19937_64 random(7);
  std::vector<double> values = noise(random, "normal", 60);
  EXPECT_EQ(places(find_change_points(values, level, 1)), Places{});
  for (std::size_t i = 20; i < 60; ++i) values[i] += 0.1;
  for (std::size_t i = 45; i < 60; ++i) values[i] -= 0.2;
  EXPECT_EQ(places(find_change_points(values, level, 1)), (Places{20, 45}));
}

TEST(ChangePoints, AMendedSlownessHasTwoEnds) {
  std::mt19937_64 random(8);
  std::vector<double> values = noise(random, "normal", 50);
  for (std::size_t i = 22; i < 30; ++i) values[i] += 0.08;
  EXPECT_EQ(places(find_change_points(values, level, 1)), (Places{22, 30}));
}

TEST(ChangePoints, OutliersAreNoChange) {
  std::mt19937_64 random(9);
  std::vector<double> values = noise(random, "normal", 50);
  values[49] += 1;
  EXPECT_EQ(places(find_change_points(values, level, 1)), Places{});
  // One does not hide a step either. (Several would: far outliers cost power, never a false alarm.)
  for (std::size_t i = 30; i < 50; ++i) values[i] += 0.05;
  EXPECT_EQ(places(find_change_points(values, level, 1)), Places{30});
  values = noise(random, "normal", 50);
  values[20] += 2;
  values[21] += 2;
  EXPECT_EQ(places(find_change_points(values, level, 1)), Places{});
}

TEST(ChangePoints, Degenerate) {
  EXPECT_TRUE(find_change_points({}, level, 1).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(7, 1.0), level, 1).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(50, 1.0), level, 1).empty());
  // A clock so coarse that most values are equal.
  std::vector<double> two(50, 1.0);
  for (std::size_t i = 30; i < 50; ++i) two[i] = 2;
  EXPECT_EQ(places(find_change_points(two, level, 1)), Places{30});
}

TEST(ChangePoints, SameSeedSameAnswer) {
  std::mt19937_64 random(11);
  std::vector<double> values = noise(random, "normal", 40);
  for (std::size_t i = 25; i < 40; ++i) values[i] += 0.03;
  const auto once = find_change_points(values, level, 3),
             again = find_change_points(values, level, 3);
  ASSERT_EQ(places(once), places(again));
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].p, again[i].p);
  for (const ChangePoint& change : once) EXPECT_LE(change.p, level);
}

TEST(ChangePoints, TooShortIsKnown) {
  EXPECT_FALSE(can_find(7, 0.5));
  EXPECT_TRUE(can_find(8, 0.1));    // 2 / C(8, 4) = 1 / 35 <= 0.05
  EXPECT_FALSE(can_find(8, 0.05));  // > 0.025
  // A change among too few points is never reported, however clear it is.
  std::vector<double> values(8, 1.0);
  for (std::size_t i = 4; i < 8; ++i) values[i] = 9;
  EXPECT_TRUE(find_change_points(values, 0.02, 1).empty());
}

}  // namespace test_change_points
}  // namespace assay
