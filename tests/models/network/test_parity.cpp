// Gradients that differ from the reference by rounding alone, by changes that a test draws.
#include "models/network/parity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace assay {
namespace test_parity {

TEST(Parity, OneSmallDrawRejectsNothing) {
  for (const bool zero : {false, true}) {
    for (const double change : {0.0, 1e-9})
      EXPECT_EQ(is_rounding(0.1, zero, change, 1, DataType::bf16), std::nullopt);
    EXPECT_EQ(is_rounding(0.1, zero, 1e-9, 2, DataType::bf16), false);
    EXPECT_EQ(is_rounding(0.1, zero, 0, 2, DataType::bf16), std::nullopt);
    EXPECT_EQ(is_rounding(0.1, zero, 0, 100, DataType::bf16), false);
  }
  EXPECT_EQ(is_rounding(0.1, false, 0.02, 1, DataType::bf16), true);
  EXPECT_EQ(is_rounding(0.1, false, 1e-3, 2, DataType::bf16), std::nullopt);
  EXPECT_EQ(is_rounding(0.1, false, 1e-3, 100, DataType::bf16), false);
  EXPECT_EQ(is_rounding(1, true, 0.3, 100, DataType::fp32), false);
  EXPECT_EQ(is_rounding(NAN, false, 1, 2, DataType::bf16), false);
}

/// Number of 100000 gradients, which differ by `relative` by rounding, that are rejected.
int rejected(double relative, const std::function<double()>& draw) {
  int all = 0;
  for (int trial = 0; trial < 100000; ++trial) {
    double change = 0;
    std::optional<bool> found;
    for (int draws = 1; !found; ++draws) {
      change = std::max(change, draw());
      found = is_rounding(relative, false, change, draws, DataType::bf16);
    }
    all += *found ? 0 : 1;
  }
  return all;
}

/// The largest errors that were measured are three roundings.
TEST(Parity, RightGradientsOfOneElementAreKept) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  EXPECT_LT(rejected(0.3, [&] { return std::abs(normal(random)) * 0.1; }), 50);
  // The changes of two equal terms cancel in every second draw.
  EXPECT_LT(rejected(0.3, [&] { return random() % 2 == 0 ? 0.1 : 0.0; }), 500);
  EXPECT_EQ(rejected(3, [&] { return std::min(std::abs(normal(random)), 3.0) * 0.1; }), 100000);
}

}  // namespace test_parity
}  // namespace assay
