// Predicted waits in the sums of ranks that divide layers.

#include "models/parallel/sum_times.hpp"

#include <gtest/gtest.h>

#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_sum_times {

/// Steps of two sums: one of each two is measured before its sums, the other in them.
TEST(SumTimes, AreOfTheRankThatWaitsLongest) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    const bool fast = ranks.rank() == 0;
    SumTimes times;
    const std::vector<double> alone = fast ? std::vector{1.0, 0.5} : std::vector{2.0, 0.5};
    for (int step = 0; step < 4; ++step) {
      SplitSeconds of;
      of.before = fast ? std::vector{1.0, 4.0} : std::vector{3.0, 1.0};
      of.sums = fast ? 10 : 7;
      times.add(of);
    }
    const auto metrics = times.metrics(alone, ranks, ranks);
    EXPECT_EQ(metrics.at("sums_s").value, 10);
    // It comes 2 s earlier to the first sum. It leaves that 1 s earlier, and comes 2 s later to the
    // next one.
    EXPECT_EQ(metrics.at("sums_waits_predicted_s").value, 2);
    EXPECT_EQ(metrics.at("sums_alone_s").value, 1.5);
    EXPECT_EQ(metrics.at("sums_predicted_s").value, 3.5);
  });
}

TEST(SumTimes, CountThatARankLeavesASumEarlier) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    const bool fast = ranks.rank() == 0;
    SumTimes times;
    for (int step = 0; step < 2; ++step) {
      SplitSeconds of;
      of.before = {1, 1, 1, 1};  // two passes
      of.sums = fast ? 5 : 4;
      times.add(of);
    }
    const auto metrics = times.metrics({fast ? 1.0 : 1.25, 1.0}, ranks, ranks);
    EXPECT_EQ(metrics.at("sums_waits_predicted_s").value, 0.5)
        << "after the first sum of each pass";
    EXPECT_EQ(metrics.at("sums_alone_s").value, 4);
    EXPECT_TRUE(SumTimes().metrics({1.0}, ranks, ranks).empty());
  });
}

/// The next of the measured passes for each step, so that both have the same spread.
TEST(SumTimes, TakeAnotherMeasuredPassForEachStep) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    SumTimes times;
    for (int step = 0; step < 6; ++step) {
      SplitSeconds of;
      of.before = {ranks.rank() == 0 ? 1.0 : 2.0};
      of.sums = 3;
      times.add(of);
    }
    const auto metrics = times.metrics({1, 5, 2}, ranks, ranks);
    EXPECT_EQ(metrics.at("sums_alone_s").value, 2);
    EXPECT_EQ(metrics.at("sums_waits_predicted_s").value, 1);
    EXPECT_EQ(metrics.at("sums_predicted_s").value, 3);
  });
}

}  // namespace test_sum_times
}  // namespace assay
