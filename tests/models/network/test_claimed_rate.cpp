// The learning rate that parameters claim, against rates of docs/training.md by hand.

#include "models/network/claimed_rate.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "models/network/schedule.hpp"

namespace assay {
namespace test_claimed_rate {

Settings claims(const char* schedule, const char* warmup = "0", const char* scaling = "linear") {
  return {{"rate", "0.1"}, {"scaling", scaling},   {"batch", "32"},  {"accumulate", "2"},
          {"ranks", "3"},  {"schedule", schedule}, {"epochs", "10"}, {"warmup", warmup}};
}

TEST(ClaimedRate, IsInProportionToTheImagesOfAStep) {
  EXPECT_DOUBLE_EQ(ClaimedRate(claims("constant"), 0).constant(), 0.1 * 192 / 256);
  EXPECT_DOUBLE_EQ(ClaimedRate(claims("constant", "0", "none"), 0).constant(), 0.1);
}

TEST(ClaimedRate, FollowsItsSchedule) {
  const auto at = [](const char* schedule, std::int64_t step, const char* warmup = "0") {
    return ClaimedRate(claims(schedule, warmup, "none"), 10).at(step);
  };
  EXPECT_DOUBLE_EQ(at("constant", 99), 0.1);
  EXPECT_DOUBLE_EQ(at("cosine", 0), 0.1);
  EXPECT_DOUBLE_EQ(at("cosine", 50), 0.05);
  EXPECT_DOUBLE_EQ(at("step:0.5:3+7", 29), 0.1);
  EXPECT_DOUBLE_EQ(at("step:0.5:3+7", 30), 0.05);
  EXPECT_DOUBLE_EQ(at("step:0.5:3+7", 70), 0.025);
  EXPECT_DOUBLE_EQ(at("poly:2", 50), 0.025);
  EXPECT_DOUBLE_EQ(at("poly:1:0.02", 50), 0.06);
  EXPECT_DOUBLE_EQ(at("cosine", 0, "2"), 0.005);
  EXPECT_DOUBLE_EQ(at("cosine", 19, "2"), 0.1);
  EXPECT_DOUBLE_EQ(at("cosine", 60, "2"), 0.05);
}

TEST(ClaimedRate, AgreesWithTheSchedulesOfTrainings) {
  for (const char* warmup : {"0", "3"})
    for (const char* decay : {"constant", "cosine", "step:0.1:4+6+8", "poly:2", "poly:1.5:0.001"}) {
      const ClaimedRate claimed(claims(decay, warmup), 7);
      const RateSchedule schedule(
          {scale_rate(0.1, 192), 7 * std::stoll(warmup), 70, 7, parse_decay("--schedule", decay)});
      for (std::int64_t step = 0; step <= 70; ++step) {
        const double rate = schedule.rate(step);
        EXPECT_TRUE(ClaimedRate::agrees(rate, claimed.at(step))) << decay << " " << step;
        EXPECT_FALSE(ClaimedRate::agrees(rate * 1.001 + 1e-9, claimed.at(step)));
      }
    }
}

TEST(ClaimedRate, AnUnknownScheduleIsNone) {
  EXPECT_THROW(ClaimedRate(claims("linear"), 10), CaseError);
  EXPECT_THROW(ClaimedRate(claims("step:0.1"), 10), CaseError);
}

}  // namespace test_claimed_rate
}  // namespace assay
