#include "analysis/scaling/step_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::scaling {
namespace test_step_time {

/// Allreduces that take so long, one after the other.
Allreduces each(double seconds) {
  return [seconds](const std::vector<PendingSum>& asked) {
    std::vector<double> ends;
    for (const PendingSum& one : asked)
      ends.push_back(std::max(ends.empty() ? 0 : ends.back(), one.ready) + seconds);
    return ends;
  };
}

TEST(Buckets, AreFilledAsTheTrainerFillsThem) {
  const std::vector<Bucket> buckets = make_buckets({10, 20, 5, 40, 3}, 30);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].elements, 30);
  EXPECT_DOUBLE_EQ(buckets[0].ready, 0.4);
  EXPECT_EQ(buckets[1].elements, 45);
  EXPECT_DOUBLE_EQ(buckets[1].ready, 0.8);
  EXPECT_EQ(buckets[2].elements, 3);
  EXPECT_DOUBLE_EQ(buckets[2].ready, 1);
  EXPECT_EQ(make_buckets({10, 20, 5}, 0).size(), 3U);
  EXPECT_EQ(make_buckets({10, 20, 5}, 1000).size(), 1U);
}

TEST(StepTime, HidesWhatTheBackwardPassCovers) {
  const Compute compute{1, 4, 0.5};
  // Ready at 2, 3 and 5; a second each: 2..3, 3..4, 5..6.
  const StepTime step =
      step_time(compute, {{1, 0.25}, {1, 0.5}, {1, 1}}, Overlap::backward, each(1));
  EXPECT_DOUBLE_EQ(step.seconds, 6.5);
  EXPECT_DOUBLE_EQ(step.communication, 3);
  EXPECT_DOUBLE_EQ(step.exposed, 1);
}

TEST(StepTime, BucketsWaitForEachOther) {
  // Ready at 2, 3 and 5; two seconds each: 2..4, 4..6, 6..8.
  EXPECT_DOUBLE_EQ(
      step_time({1, 4, 0}, {{1, 0.25}, {1, 0.5}, {1, 1}}, Overlap::backward, each(2)).seconds, 8);
}

TEST(StepTime, OverlapsAsItIsTold) {
  const Compute compute{1, 4, 0.5};
  const std::vector<Bucket> buckets{{1, 0.25}, {1, 0.5}};
  EXPECT_DOUBLE_EQ(step_time(compute, buckets, Overlap::none, each(1)).seconds, 7.5);
  EXPECT_DOUBLE_EQ(step_time(compute, buckets, Overlap::step, each(1)).seconds, 5.5);
  const StepTime lagged = step_time(compute, buckets, Overlap::step, each(4));
  EXPECT_DOUBLE_EQ(lagged.seconds, 8);
  EXPECT_DOUBLE_EQ(lagged.exposed, 2.5);
  const StepTime alone = step_time(compute, buckets, Overlap::backward, each(0));
  EXPECT_DOUBLE_EQ(alone.seconds, 5.5);
  EXPECT_EQ(alone.exposed, 0);
}

}  // namespace test_step_time
}  // namespace assay::scaling
