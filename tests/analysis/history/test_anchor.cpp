// The level that a series is held against where nobody promoted one.
#include <gtest/gtest.h>

#include "analysis/history/history.hpp"

namespace assay {
namespace test_anchor {

TEST(Anchor, IsOfEightPointsWithinTheirFences) {
  RowHistory series;
  const auto judged = [&](const std::vector<double>& more) {
    for (const double value : more) {
      Point& point = series.points.emplace_back();
      point.time = static_cast<double>(series.points.size());
      point.value = value;
    }
    return judge_series(series, nullptr, 0.05, 0.05);
  };
  const SeriesVerdict early = judged({1, 0.7, 1.001, 1.002, 0.7, 1.003, 1.004, 1.005, 1.006});
  EXPECT_FALSE(early.anchored);
  EXPECT_EQ(early.anchored_reason, "fewer than 8 of 9 runs are within their Tukey fences");
  EXPECT_NEAR(judged({1.007}).anchored.value().value, 1.0035, 1e-9);
}

}  // namespace test_anchor
}  // namespace assay
