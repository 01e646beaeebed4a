#include <gtest/gtest.h>

#include "analysis/compare/verdict.hpp"

namespace assay {
namespace test_verdict {

LaunchComparison fresh(double ratio, double low, double high, double p = 1e-5) {
  LaunchComparison comparison;
  comparison.ratio = ratio;
  comparison.interval = Interval{low, high};
  comparison.p = p;
  comparison.n_base = comparison.n_new = fresh_launches;
  return comparison;
}

TEST(Verdict, SlowerNeedsItsIntervalBeyondTheTolerance) {
  const auto verdict = [](const LaunchComparison& launches) {
    return judge_fresh(launches, 0.02, 1e-3).verdict;
  };
  EXPECT_EQ(verdict(fresh(1.05, 1.03, 1.07)), Verdict::slower);
  EXPECT_EQ(verdict(fresh(0.95, 0.93, 0.97)), Verdict::faster);
  // The point is beyond, the interval is not: half of such rows have a change that is tolerated.
  EXPECT_EQ(verdict(fresh(1.03, 1.01, 1.05)), Verdict::inconclusive);
  EXPECT_EQ(verdict(fresh(0.97, 0.95, 0.99)), Verdict::inconclusive);
  EXPECT_EQ(verdict(fresh(1.01, 1.005, 1.015)), Verdict::same);
  // The ratio is beyond it, and not shown at the rate of the suite.
  EXPECT_EQ(verdict(fresh(1.05, 1.03, 1.07, 0.01)), Verdict::inconclusive);
  LaunchComparison none = fresh(1.05, 1, 1);
  none.interval.reset();
  EXPECT_EQ(verdict(none), Verdict::inconclusive);
}

TEST(Verdict, AnOpenOneSaysHowManyLaunchesWouldDecide) {
  const Judgement open = judge_fresh(fresh(1.03, 1.01, 1.05), 0.02, 1e-3);
  EXPECT_TRUE(open.detected);
  EXPECT_EQ(open.reason,
            "a change was detected, but it may be tolerated: the interval 0.9524 to 0.9901 "
            "contains a limit of the tolerance; about 60 + 60 launches would decide");
}

}  // namespace test_verdict
}  // namespace assay
