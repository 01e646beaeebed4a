// Levels that excuse a slow value: those that stayed, in undisturbed runs, or were promoted.
#include <gtest/gtest.h>

#include <set>

#include "analysis/history/history.hpp"

namespace assay {
namespace test_suspect {

/// The series of weekly medians in µs, of which the weeks in `disturbed` (from 0) are marked.
RowHistory series_of(const std::vector<double>& values, const std::set<std::size_t>& disturbed) {
  RowHistory series;
  series.id = series.benchmark = series.hardware = series.system = "x";
  for (std::size_t i = 0; i < values.size(); ++i) {
    Point& point = series.points.emplace_back();
    point.time = static_cast<double>(i);
    point.when = "2026-01-05T00:00:00.000Z";
    point.run = std::to_string(i);
    point.value = 1e-6 * values[i];
    point.launches = 5;
    point.shared = disturbed.contains(i);
  }
  return series;
}

/// The verdict on the series in its last week. `promoted`: a level in µs.
SeriesVerdict judged(const std::vector<double>& values, const std::set<std::size_t>& disturbed = {},
                     std::optional<double> promoted = std::nullopt) {
  Anchor anchor{"promote", "x", "x", "1970-01-01", "me", "why"};
  anchor.runs = {"0", "1", "2", "3"};
  if (promoted) anchor.value = 1e-6 * *promoted;
  return judge_series(series_of(values, disturbed), promoted ? &anchor : nullptr, 0.05, 0.05);
}

std::string state_of(const std::vector<double>& values, const std::set<std::size_t>& disturbed = {},
                     std::optional<double> promoted = std::nullopt) {
  return judged(values, disturbed, promoted).state;
}

/// Weeks of noise of about 1 %, the same in each test.
std::vector<double> quiet(std::size_t weeks) {
  std::vector<double> values;
  for (std::size_t i = 0; i < weeks; ++i)
    values.push_back(1000 + 3 * static_cast<double>(i * 5 % 8) - 10);
  return values;
}

TEST(Suspect, ASlowLibraryIsSeenInEachOfItsWeeks) {
  const std::vector<double> weeks{988, 996, 975, 1021, 1066, 964, 965, 1067, 973, 1070};
  const auto until = [&](std::size_t week) {
    return std::vector<double>(weeks.begin(), weeks.begin() + static_cast<std::ptrdiff_t>(week));
  };
  EXPECT_EQ(state_of(until(8)), "suspect") << "the 8th run, from which on a series is judged";
  EXPECT_EQ(state_of(until(9)), "steady");
  EXPECT_EQ(state_of(until(10)), "suspect");
  for (const std::size_t slow : {5, 8, 10})
    EXPECT_EQ(state_of(until(slow), {}, 992), "suspect") << slow;
  for (const std::size_t usual : {6, 7, 9})
    EXPECT_EQ(state_of(until(usual), {}, 992), "steady") << usual;
}

TEST(Suspect, ADisturbedPointExcusesNothingAndSetsNoThreshold) {
  std::vector<double> values = quiet(20);
  values.push_back(1080);
  ASSERT_EQ(state_of(values), "suspect");
  // These points are as slow as the last: often enough to be a level, were they not disturbed.
  const std::set<std::size_t> slow{3, 7, 8, 12, 15, 17};
  for (const std::size_t week : slow) values[week] = 1080;
  EXPECT_EQ(state_of(values), "steady") << "a mode of this machine";
  EXPECT_EQ(state_of(values, slow), "suspect");
  // Slower by far: they would widen the fences.
  for (const std::size_t week : slow) values[week] = 1300 + 100 * static_cast<double>(week);
  EXPECT_EQ(state_of(values, slow), "suspect");
}

TEST(Suspect, ALevelExcusesWhatIsNearItIfItStayed) {
  std::vector<double> values = quiet(24);
  values.push_back(1100);
  for (const std::size_t week : {4, 13}) values[week] = 1104;
  EXPECT_EQ(state_of(values), "suspect") << "two runs are no level";
  values[14] = 1096;
  EXPECT_EQ(state_of(values), "steady");
  values.back() = 1060;
  EXPECT_EQ(state_of(values), "suspect") << "it is not near the level";
}

TEST(Suspect, AMachineThatIsNeverQuietIsJudged) {
  std::vector<double> values = quiet(12);
  std::set<std::size_t> all;
  for (std::size_t i = 0; i <= values.size(); ++i) all.insert(i);
  values.push_back(1001);
  EXPECT_EQ(state_of(values, all), "steady");
  values.back() = 1090;
  EXPECT_EQ(state_of(values, all), "suspect");
}

TEST(Suspect, FirstRunsThatWereDisturbedAreNoAnchor) {
  std::vector<double> values = quiet(20);
  const std::set<std::size_t> slow{0, 1, 3, 4, 6};
  for (const std::size_t week : slow) values[week] = 1060 + static_cast<double>(week);
  EXPECT_NEAR(judged(values, slow).anchored.value().value, 1000e-6, 5e-6);
}

}  // namespace test_suspect
}  // namespace assay
