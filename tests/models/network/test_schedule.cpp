#include "models/network/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_schedule {

using fixture::message_of;

RateSchedule schedule(const std::string& decay, std::int64_t warmup = 5, std::int64_t total = 100,
                      std::int64_t epoch = 10, double rate = 0.4) {
  return RateSchedule({rate, warmup, total, epoch, parse_decay("--schedule", decay)});
}

std::string refusal(const std::string& text) {
  return message_of([&] { parse_decay("--schedule", text); });
}

TEST(Schedule, TextsAreReadAndWritten) {
  for (const char* text : {"constant", "cosine", "step:0.1:30+60+80", "step:0.5:1", "poly:2",
                           "poly:1.5", "poly:2:0.0001"})
    EXPECT_EQ(to_text(parse_decay("--schedule", text)), text);
  const Decay decay = parse_decay("--schedule", "step:0.25:3+70");
  EXPECT_EQ(decay.kind, Decay::Kind::step);
  EXPECT_EQ(decay.factor, 0.25);
  EXPECT_EQ(decay.milestones, (std::vector<std::int64_t>{3, 70}));
  EXPECT_EQ(to_text(parse_decay("--schedule", "poly:2:0")), "poly:2");
}

TEST(Schedule, AWrongTextIsNamed) {
  EXPECT_SAYS(refusal("cosin"), "--schedule: unknown schedule 'cosin'");
  EXPECT_SAYS(refusal("cosin"), "Did you mean 'cosine'?");
  EXPECT_SAYS(refusal(""), "unknown schedule ''");
  EXPECT_SAYS(refusal("cosine:2"), "has 1 fields after its name. The form is cosine.");
  EXPECT_SAYS(refusal("step:0.1"), "step:0.1:30+60+80");
  EXPECT_SAYS(refusal("step:10:30"), "the factor '10'");
  EXPECT_SAYS(refusal("step:nan:30"), "the factor 'nan'");
  EXPECT_SAYS(refusal("step:0.1:30+30"), "do not ascend (30 follows 30)");
  EXPECT_SAYS(refusal("step:0.1:30+"), "the epoch ''");
  EXPECT_SAYS(refusal("step:0.1:30,60"), "the epoch '30,60'");
  EXPECT_SAYS(refusal("step:0.1:0"), "the epoch '0'");
  EXPECT_SAYS(refusal("poly"), "poly:2 or poly:2:0.0001");
  EXPECT_SAYS(refusal("poly:0"), "the power '0'");
  EXPECT_SAYS(refusal("poly:2:-1"), "the end rate '-1'");
}

TEST(Schedule, WarmsUpLinearlyFromTheFirstStep) {
  for (const char* decay : {"constant", "cosine", "step:0.1:1", "poly:2"}) {
    const RateSchedule warm = schedule(decay);
    for (int step = 0; step < 5; ++step) EXPECT_DOUBLE_EQ(warm.rate(step), 0.4 * (step + 1) / 5);
    EXPECT_EQ(warm.rate(4), 0.4);
    EXPECT_EQ(warm.rate(5), 0.4) << decay;
    EXPECT_EQ(schedule(decay, 0).rate(0), 0.4);
  }
}

TEST(Schedule, StepsFallAtTheirEpochs) {
  const RateSchedule steps = schedule("step:0.5:3+6");
  EXPECT_EQ(steps.rate(29), 0.4);
  EXPECT_EQ(steps.rate(30), 0.2);
  EXPECT_EQ(steps.rate(59), 0.2);
  EXPECT_EQ(steps.rate(60), 0.1);
  EXPECT_EQ(steps.rate(1000), 0.1);
}

TEST(Schedule, CosineAndPolynomialEndWhereTheyShould) {
  const RateSchedule cosine = schedule("cosine", 20, 100);
  EXPECT_NEAR(cosine.rate(40), 0.2 * (1 + std::sqrt(0.5)), 1e-15);  // a quarter
  EXPECT_NEAR(cosine.rate(60), 0.2, 1e-15);                         // half
  EXPECT_GT(cosine.rate(99), 0);
  EXPECT_EQ(cosine.rate(100), 0);
  EXPECT_EQ(cosine.rate(101), 0);
  const RateSchedule polynomial = schedule("poly:2:0.1", 20, 100);
  EXPECT_NEAR(polynomial.rate(60), 0.3 / 4 + 0.1, 1e-15);
  EXPECT_NEAR(polynomial.rate(80), 0.3 / 16 + 0.1, 1e-15);
  EXPECT_EQ(polynomial.rate(100), 0.1);
  EXPECT_EQ(polynomial.rate(200), 0.1);
  EXPECT_DOUBLE_EQ(schedule("poly:1", 0, 4).rate(1), 0.3);
  for (const RateSchedule& falling : {cosine, polynomial})
    for (int step = 20; step < 100; ++step) EXPECT_GT(falling.rate(step), falling.rate(step + 1));
}

TEST(Schedule, RatesScaleWithTheBatch) {
  EXPECT_EQ(scale_rate(0.1, 256), 0.1);
  EXPECT_EQ(scale_rate(0.1, 8192), 3.2);
  EXPECT_EQ(scale_rate(0.1, 64), 0.025);
}

TEST(Schedule, WhatIsNoScheduleIsRefused) {
  const auto refused = [](double rate, std::int64_t warmup, std::int64_t total,
                          const std::string& decay = "constant") {
    return message_of([&] { schedule(decay, warmup, total, 1, rate); });
  };
  EXPECT_EQ(refused(0.1, 0, 1), "accepted");
  EXPECT_SAYS(refused(0, 0, 1), "learning rate 0 is not positive");
  EXPECT_SAYS(refused(std::numeric_limits<double>::infinity(), 0, 1), "learning rate inf");
  EXPECT_SAYS(refused(std::nan(""), 0, 1), "learning rate nan");
  EXPECT_SAYS(refused(0.1, 5, 5), "5 steps with a warm-up of 5");
  EXPECT_SAYS(refused(0.1, -1, 5), "warm-up of -1");
  EXPECT_SAYS(refused(0.1, 0, 0), "0 steps");
  EXPECT_SAYS(refused(0.1, 0, 5, "poly:2:0.2"), "ends at the rate 0.2");
}

}  // namespace test_schedule
}  // namespace assay
