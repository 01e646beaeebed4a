#include <gtest/gtest.h>

#include "analysis/ratio.hpp"

namespace assay {
namespace test_ratio {

TEST(Ratio, AboveOneTheFirstNamedIsFaster) {
  EXPECT_DOUBLE_EQ(speedup(2, 3), 1.5);
  EXPECT_DOUBLE_EQ(compute_speedup(0.8), 1.25);
  const Interval turned = compute_speedup(Interval{0.8, 2});
  EXPECT_DOUBLE_EQ(turned.low, 0.5);
  EXPECT_DOUBLE_EQ(turned.high, 1.25);
  const auto known = compute_speedup(std::optional(Interval{0.8, 2}));
  ASSERT_TRUE(known);
  EXPECT_EQ(known->low, 0.5);
  EXPECT_EQ(known->high, 1.25);
  EXPECT_EQ(compute_speedup(std::optional(0.5)), 2.0);
  for (const std::optional<double>& none : {std::optional<double>(), std::optional(0.0)})
    EXPECT_FALSE(compute_speedup(none));
  for (const std::optional<Interval>& none :
       {std::optional<Interval>(), std::optional(Interval{0, 1}), std::optional(Interval{0, 0})})
    EXPECT_FALSE(compute_speedup(none));
}

TEST(Ratio, TheHeaderSaysWhoOverWhom) {
  EXPECT_EQ(over("a", "b"), "a over b");
  EXPECT_EQ(format_speedup_header("a", "b"), "speedup: a over b, above 1 a is faster");
}

}  // namespace test_ratio
}  // namespace assay
