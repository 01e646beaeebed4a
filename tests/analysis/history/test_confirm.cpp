// The answers of fresh launches of two builds.

#include <gtest/gtest.h>

#include "analysis/history/confirm.hpp"

namespace assay {
namespace test_confirm {

std::vector<double> launches(double seconds, double spread = 0.002) {
  std::vector<double> all;
  for (int i = 0; i < 12; ++i) all.push_back(seconds * (1 + spread * ((i * 5) % 12 - 6) / 6));
  return all;
}

std::string answer(double promoted, double updated, double spread = 0.002) {
  const Confirmation told =
      judge_launches(launches(promoted, spread), launches(updated, spread * 1.1), 1, 0.05, 0.01);
  EXPECT_FALSE(told.reason.empty());
  return told.answer;
}

TEST(Confirm, SoftwareMachineOrNoise) {
  EXPECT_EQ(answer(1, 1.1), "software slower");
  EXPECT_EQ(answer(1.1, 1.1), "machine slower");
  EXPECT_EQ(answer(1, 1), "noise");
  EXPECT_EQ(answer(1, 0.9), "noise");
  EXPECT_EQ(answer(1, 1.03), "noise") << "it is tolerated";
  EXPECT_EQ(answer(1, 1.05), "software slower") << "it is not chance, and not surely tolerated";
  EXPECT_EQ(answer(1, 0.95), "noise");
  EXPECT_EQ(answer(1.2, 1.0), "noise") << "the new build is as fast as what was promoted";
  EXPECT_EQ(answer(1.1, 1.21), "software slower");
  EXPECT_EQ(answer(1.08, 1.08, 0.2), "noise") << "not shown by launches that vary by 20 %";
}

TEST(Confirm, TheAnswerTellsItsNumbers) {
  const Confirmation told = judge_launches(launches(1), launches(1.1), 1, 0.05, 0.01);
  EXPECT_NEAR(told.ratio.value(), 1.1, 0.002);
  EXPECT_LE(told.p.value(), 0.01);
  EXPECT_GT(told.interval.value()[0], 1.05);
  EXPECT_EQ(told.level_s, 1.0);
}

}  // namespace test_confirm
}  // namespace assay
