#include "models/network/loss_scale.hpp"

#include <gtest/gtest.h>

#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_loss_scale {

using fixture::message_of;

LossScale loss_scale(const std::string& text) {
  return LossScale(parse_loss_scale("--loss-scale", text));
}
std::string refusal(const std::string& text) {
  return message_of([&] { parse_loss_scale("--loss-scale", text); });
}

TEST(LossScale, TextsAreReadAndWritten) {
  for (const char* text : {"none", "fixed:1", "fixed:1024", "dynamic", "dynamic:1024",
                           "dynamic:65536:100", "dynamic:8:3"})
    EXPECT_EQ(to_text(parse_loss_scale("--loss-scale", text)), text);
  EXPECT_EQ(to_text(parse_loss_scale("--loss-scale", "dynamic:65536:2000")), "dynamic");
  EXPECT_EQ(parse_loss_scale("--loss-scale", "dynamic").start, 65536);
}

TEST(LossScale, AWrongTextIsNamed) {
  EXPECT_SAYS(refusal("dynamik"), "--loss-scale: unknown loss scale 'dynamik'");
  EXPECT_SAYS(refusal("fixed"), "The form is fixed:1024.");
  EXPECT_SAYS(refusal("none:1"), "The form is none.");
  EXPECT_SAYS(refusal("dynamic:1:2:3"), "has 3 fields");
  for (const char* scale : {"1000", "0", "0.5", "-2", "33554432", "nan", "inf", "x", ""})
    EXPECT_SAYS(refusal(std::string("fixed:") + scale), "is not a power of two from 1 to");
  EXPECT_SAYS(refusal("dynamic:8:0"), "the number of steps '0'");
}

TEST(LossScale, HalvesAndDoublesAsPyTorch) {
  LossScale scale = loss_scale("dynamic:1024:3");
  EXPECT_EQ(scale.scale(), 1024);
  EXPECT_FALSE(scale.update(false));
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_TRUE(scale.update(true));
  EXPECT_TRUE(scale.update(true));
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_FALSE(scale.update(false));  // good steps count from 0 again
  EXPECT_EQ(scale.scale(), 256);
  EXPECT_TRUE(scale.update(true));
  EXPECT_TRUE(scale.update(true));
  EXPECT_EQ(scale.scale(), 256);
  EXPECT_TRUE(scale.update(true));
  EXPECT_EQ(scale.scale(), 512);
  for (int i = 0; i < 3; ++i) scale.update(true);
  EXPECT_EQ(scale.scale(), 1024);
  EXPECT_EQ(scale.steps(), 10);
  EXPECT_EQ(scale.skipped(), 2);
  EXPECT_FALSE(scale.has_diverged());
}

TEST(LossScale, StaysWithinItsBounds) {
  LossScale scale = loss_scale("dynamic:16777216:1");
  scale.update(true);
  EXPECT_EQ(scale.scale(), 16777216);
  for (int i = 0; i < 24; ++i) scale.update(false);
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_FALSE(scale.has_diverged());
  scale.update(false);
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_TRUE(scale.has_diverged());
}

/// Gradients that were made before the scale changed, as with a lag.
TEST(LossScale, WhatAnOlderScaleHasMadeIsJudgedByThatOne) {
  LossScale scale = loss_scale("dynamic:1024:2");
  EXPECT_FALSE(scale.update(false, 1024));
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_FALSE(scale.update(false, 1024));  // not the fault of 512
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_EQ(scale.skipped(), 2);
  EXPECT_FALSE(scale.update(false, 512));
  EXPECT_EQ(scale.scale(), 256);
  scale.update(true, 256);
  scale.update(true, 256);
  EXPECT_EQ(scale.scale(), 512);
  EXPECT_FALSE(scale.update(false, 256));  // too large already, before it was doubled
  EXPECT_EQ(scale.scale(), 128);
  LossScale low = loss_scale("dynamic:2:1");
  low.update(false, 2);
  low.update(false, 2);
  EXPECT_FALSE(low.has_diverged());
  low.update(false, 1);
  EXPECT_TRUE(low.has_diverged());
}

TEST(LossScale, AFixedOneStays) {
  LossScale fixed = loss_scale("fixed:64"), none = loss_scale("none");
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(fixed.update(true));
    EXPECT_TRUE(none.update(true));
  }
  EXPECT_FALSE(fixed.update(false));
  EXPECT_EQ(fixed.scale(), 64);
  EXPECT_EQ(fixed.skipped(), 1);
  EXPECT_FALSE(fixed.has_diverged());
  EXPECT_FALSE(none.has_diverged());
  EXPECT_FALSE(none.update(false));
  EXPECT_EQ(none.scale(), 1);
  EXPECT_TRUE(none.has_diverged());
}

TEST(LossScale, OneThatSkipsForeverIsStuck) {
  LossScale fixed = loss_scale("fixed:1024"), dynamic = loss_scale("dynamic:16777216");
  for (int i = 0; i < 99; ++i) fixed.update(false);
  EXPECT_FALSE(fixed.stuck());
  fixed.update(true);
  for (int i = 0; i < 99; ++i) fixed.update(false);
  EXPECT_FALSE(fixed.stuck());
  LossScale continued = loss_scale("fixed:1024");
  continued.restore(fixed.state());
  for (LossScale* const one : {&fixed, &continued}) {
    one->update(false);
    EXPECT_TRUE(one->stuck());
    EXPECT_FALSE(one->has_diverged());
  }
  // With a lag each scale is judged twice.
  while (!dynamic.has_diverged()) {
    const double before = dynamic.scale();
    for (int i = 0; i < 2; ++i) dynamic.update(false, before);
  }
  EXPECT_FALSE(dynamic.stuck());
}

TEST(LossScale, ContinuesFromAState) {
  LossScale whole = loss_scale("dynamic:1024:3"), second = loss_scale("dynamic:1024:3");
  const auto finite = [](int step) { return step % 7 != 2; };
  for (int step = 0; step < 12; ++step) whole.update(finite(step));
  second.restore(whole.state());
  for (int step = 12; step < 40; ++step) {
    EXPECT_EQ(whole.update(finite(step)), second.update(finite(step)));
    EXPECT_EQ(whole.state(), second.state());
  }
  const auto refused = [&](const std::string& text, const LossScaleState& state) {
    return message_of([&] { loss_scale(text).restore(state); });
  };
  EXPECT_EQ(refused("dynamic:1024:3", {2, 2, 5, 1}), "accepted");
  EXPECT_SAYS(refused("dynamic:1024:3", {2, 3, 5, 1}), "3 good steps");
  EXPECT_SAYS(refused("dynamic:1024:3", {3, 0, 5, 1}), "a loss scale of 3");
  EXPECT_SAYS(refused("dynamic:1024:3", {2, 0, 5, 6}), "6 of 5 steps skipped");
  EXPECT_SAYS(refused("fixed:64", {32, 0, 5, 1}), "none of fixed:64");
}

}  // namespace test_loss_scale
}  // namespace assay
