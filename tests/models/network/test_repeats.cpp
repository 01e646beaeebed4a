#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/network/repeats.hpp"

namespace assay {
namespace {

using Differences = std::vector<Trainer::Difference>;

TrainerSettings in(Precision precision) {
  TrainerSettings settings;
  settings.precision = precision;
  return settings;
}

TEST(Repeats, AllowNothingMoreWhereRunsHaveEqualBits) {
  Differences found{{0.01, 1e-4, "first"}, {0, 1e-4, "second"}};
  EXPECT_TRUE(may_spread(Precision::bf16, found));
  const auto equal = [](bool) { return Differences{{0, 1e-4, "first"}, {0, 1e-4, "second"}}; };
  EXPECT_EQ(allow_spread(in(Precision::bf16), equal, found), 0);
  EXPECT_EQ(found[0].allowed, 1e-4);
  EXPECT_EQ(worst(found).what, "first");
}

/// Each tensor has a spread of its own, the largest of all runs, and one run checks all.
TEST(Repeats, AllowFourTimesTheLargestDifferenceOfEqualRuns) {
  Differences found{{0.01, 1e-4, "first"}, {0.01, 1e-4, "second"}, {2e-5, 1e-4, "third"}};
  int runs = 0, whole = 0;
  const auto repeat = [&](bool every) {
    whole += every ? 1 : 0;
    const double first = ++runs == 5 ? 0.003 : 0.001;
    return Differences{{first, 1e-4, "first"}, {0.002, 1e-4, "second"}, {1e-5, 1e-4, "third"}};
  };
  EXPECT_EQ(allow_spread(in(Precision::bf16), repeat, found), 0.003);
  EXPECT_EQ(whole, 1);
  EXPECT_GT(runs, 4);
  EXPECT_DOUBLE_EQ(found[0].allowed, 0.012);
  EXPECT_DOUBLE_EQ(found[1].allowed, 0.008);
  EXPECT_EQ(found[2].allowed, 1e-4);
  EXPECT_EQ(worst(found).what, "second");
}

TEST(Repeats, AllowNoMoreThanANetworkMayDifferFromFp64) {
  Differences found{{0.2, 1e-4, "all"}};
  const auto repeat = [](bool) { return Differences{{0.1, 1e-4, "all"}}; };
  allow_spread(in(Precision::fp16), repeat, found);
  EXPECT_EQ(found[0].allowed, 0.05);
}

/// It rejects 32 bits, numbers that are none, and copies that are not the rounded weights.
TEST(Repeats, ExplainRoundingsTo16BitsAlone) {
  const Differences found{{0.01, 1e-4, "first"}};
  EXPECT_FALSE(may_spread(Precision::fp32, found));
  EXPECT_TRUE(may_spread(Precision::tf32, found));
  EXPECT_FALSE(may_spread(Precision::bf16, {{1e-5, 1e-4, "first"}}));
  for (const double none :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(may_spread(Precision::bf16, {{none, 1e-4, "first"}, {0.01, 1e-4, "second"}}));
}

}  // namespace
}  // namespace assay
