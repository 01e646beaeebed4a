#include "analysis/scaling/staging.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <variant>

#include "core/base/error.hpp"

namespace assay::scaling {
namespace test_staging {

/// One file system of 2.5 TB/s for all nodes.
constexpr StagingRates rates{
    .read = 2e9, .shared = 2.5e12, .pass = 10e9, .keep = 2e9, .local = 5e9, .disk = 1.6e12};

TEST(Staging, OfOneNodeIsACopy) {
  const auto time = std::get<StagingTime>(staging_time(1e12, 1, rates));
  EXPECT_DOUBLE_EQ(time.read, 500);
  EXPECT_EQ(time.pass, 0);
  EXPECT_DOUBLE_EQ(time.keep, 500);
  EXPECT_DOUBLE_EQ(time.seconds, 500);  // at the same time
}

TEST(Staging, PassesOnWhatOtherNodesHaveRead) {
  const auto time = std::get<StagingTime>(staging_time(1e12, 10, rates));
  EXPECT_DOUBLE_EQ(time.read, 50);
  EXPECT_DOUBLE_EQ(time.pass, 90);
  EXPECT_DOUBLE_EQ(time.keep, 500);
  EXPECT_DOUBLE_EQ(time.seconds, 590);
  EXPECT_DOUBLE_EQ(time.node_bytes, 1e12);
}

TEST(Staging, SharedStorageLimitsManyNodes) {
  StagingRates slow = rates;
  slow.shared = 1e9;
  EXPECT_DOUBLE_EQ(std::get<StagingTime>(staging_time(1e12, 10, slow)).seconds, 1000);
  slow.shared = 0;
  EXPECT_DOUBLE_EQ(std::get<StagingTime>(staging_time(1e12, 10, slow)).read, 50);
}

/// 20 TB that are needed at 4 TB/s (Prabhat and M. Houston, TensorFlow Blog, February 2019).
TEST(Staging, OfTwentyTerabytesInParts) {
  const auto all = staging_time(20e12, 4560, rates);
  ASSERT_TRUE(std::holds_alternative<Unsupported>(all));
  EXPECT_EQ(std::get<Unsupported>(all).reason,
            "a node would keep 2e+13 bytes, its disk has 1.6e+12");
  const auto time = std::get<StagingTime>(staging_time(20e12, 4560, rates, 0.05));
  EXPECT_DOUBLE_EQ(time.read, 8);
  EXPECT_NEAR(time.pass, 100, 0.03);
  EXPECT_DOUBLE_EQ(time.keep, 500);
  EXPECT_DOUBLE_EQ(time.delivered, 22.8e12);
  EXPECT_EQ(nodes_for_rate(4e12, rates), 800);
}

TEST(Staging, PartsThatAreNotTheWholeAreNone) {
  EXPECT_TRUE(std::holds_alternative<Unsupported>(staging_time(1e12, 10, rates, 0.09)));
  EXPECT_TRUE(std::holds_alternative<StagingTime>(staging_time(1e12, 10, rates, 0.1)));
}

TEST(Staging, NumbersThatCannotBeAreRefused) {
  EXPECT_THROW(staging_time(0, 1, rates), InputError);
  EXPECT_THROW(staging_time(1e9, 0, rates), InputError);
  EXPECT_THROW(staging_time(1e9, 2, rates, 1.5), InputError);
  EXPECT_THROW(staging_time(std::numeric_limits<double>::infinity(), 2, rates), InputError);
  EXPECT_THROW(nodes_for_rate(-1, rates), InputError);
  StagingRates none = rates;
  none.pass = 0;
  EXPECT_THROW(staging_time(1e9, 2, none), InputError);
  EXPECT_DOUBLE_EQ(std::get<StagingTime>(staging_time(1e9, 1, none)).seconds, 0.5);
}

}  // namespace test_staging
}  // namespace assay::scaling
