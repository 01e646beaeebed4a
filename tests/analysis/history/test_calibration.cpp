// Tests that the rates that `assay history` declares are those it has: 1200 made-up series of runs,
// of each kind of noise, judged run by run. The figures are in docs/method.md.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <random>

#include "analysis/history/history.hpp"

namespace assay {
namespace test_history_calibration {

constexpr int made_up = 1200;
constexpr double rate = 0.05;

/// Noise of 1 % and what machines add to it. Factors are of the time of a run.
double noisy_log(std::mt19937_64& random, const std::string& kind, double& state) {
  std::normal_distribution<> normal;
  std::uniform_real_distribution<> uniform;
  double value = 0.01 * normal(random);
  if (kind == "heavy tails") value = 0.01 * std::student_t_distribution<>(3)(random);
  if (kind == "outliers" && uniform(random) < 0.05) value += std::log(1.05 + uniform(random));
  if (kind == "outliers, both ways" && uniform(random) < 0.05)
    value += std::log(uniform(random) < 0.5 ? 0.7 + 0.2 * uniform(random) : 1.1 + uniform(random));
  if (kind == "two modes, 1 in 10" && uniform(random) < 0.1) value += std::log(1.2);
  if (kind == "two modes, 1 in 3" && uniform(random) < 1.0 / 3) value += std::log(1.2);
  if (kind == "two modes, halves" && uniform(random) < 0.5) value += std::log(1.2);
  if (kind == "AR(1), 0.3") value = state = 0.3 * state + 0.02 * normal(random);
  return value;
}

RowHistory series_of(std::mt19937_64& random, const std::string& kind, int number) {
  RowHistory series;
  series.id = fmt::format("row{}", number);
  series.benchmark = series.hardware = series.system = "x";
  // The history goes from the first run that is judged to a year of them.
  const int points = 8 + static_cast<int>(random() % 45);
  double state = 0;
  for (int i = 0; i < points; ++i) {
    Point point;
    point.time = i;
    point.when = fmt::format("2026-{:02}-{:02}T08:00:00.000Z", 1 + i / 28, 1 + i % 28);
    point.run = fmt::format("run{}", i);
    point.value = std::exp(noisy_log(random, kind, state));
    point.launches = 5;
    series.points.push_back(point);
  }
  return series;
}

/// The count that is exceeded once in a thousand where the rate is as declared.
double bound(int trials, double declared = rate) {
  return boost::math::quantile(
      boost::math::complement(boost::math::binomial_distribution<>(trials, declared), 0.001));
}

struct Counts {
  int accused = 0;  ///< histories with a state or a change point that claims significance
  int suspect = 0;  ///< series
};

Counts judged(const std::string& kind, int histories, int rows) {
  const Anchors none("/no such folder");
  std::mt19937_64 random(20261122);
  Counts counts;
  for (int h = 0; h < histories; ++h) {
    History all;
    for (int i = 0; i < rows; ++i) all.series.push_back(series_of(random, kind, i));
    bool accused = false;
    for (const RowHistory& series : judge_history(std::move(all), none, {}, {}).series) {
      const SeriesVerdict& verdict = series.verdict;
      accused = accused || verdict.state == "slower" || verdict.state == "drifting" ||
                verdict.state == "faster" || !verdict.changes.empty() || verdict.trend;
      counts.suspect += verdict.state == "suspect";
    }
    counts.accused += accused;
  }
  return counts;
}

TEST(HistoryCalibration, TheDeclaredRatesCoverAllStates) {
  for (const char* kind :
       {"normal", "heavy tails", "outliers", "outliers, both ways", "two modes, 1 in 10",
        "two modes, 1 in 3", "two modes, halves", "AR(1), 0.3"}) {
    const Counts alone = judged(kind, made_up, 1), together = judged(kind, made_up / 100, 100);
    std::cout << fmt::format(
        "{:<20} alone: {} accused, {} suspect; of 12 histories of 100: {}, {}\n", kind,
        alone.accused, alone.suspect, together.accused, together.suspect);
    EXPECT_LE(alone.accused, bound(made_up)) << kind;
    EXPECT_LE(alone.suspect, bound(made_up, suspect_rate)) << kind;
    EXPECT_LE(together.accused, bound(made_up / 100)) << kind;
    EXPECT_LE(together.suspect, bound(made_up, suspect_rate)) << kind;
  }
}

/// The part of 400 series in which a step by this factor is suspect in its own run.
double seen(const std::string& kind, double step) {
  const Anchors none("/no such folder");
  std::mt19937_64 random(5);
  int suspects = 0;
  constexpr int trials = 400;
  for (int i = 0; i < trials; ++i) {
    History all;
    RowHistory series = series_of(random, kind, i);
    Point point = series.points.front();
    point.time = static_cast<double>(series.points.size());
    point.run = "step";
    point.value = step * std::exp(0.01 * std::normal_distribution<>()(random));
    series.points.push_back(point);
    all.series.push_back(std::move(series));
    suspects += judge_history(all, none, {}, {}).count("suspect") == 1;
  }
  std::cout << fmt::format("{:<20} step of {:g}: {} of {}\n", kind, step, suspects, trials);
  return static_cast<double>(suspects) / trials;
}

TEST(HistoryCalibration, AStepIsSeenInItsRun) {
  // Rates that nothing ever reaches would be held by a judge who is asleep.
  EXPECT_GE(seen("normal", 1.05), 0.92) << "a step of the tolerance: 95 %, less three deviations";
  EXPECT_GE(seen("outliers", 1.05), 0.9);
  for (const char* kind : {"normal", "outliers", "two modes, 1 in 10"})
    EXPECT_GE(seen(kind, 1.1), 0.9) << kind;
}

}  // namespace test_history_calibration
}  // namespace assay
