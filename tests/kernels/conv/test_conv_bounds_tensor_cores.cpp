// The arithmetic of tensor cores, simulated: operands rounded or cut to tf32, sums that drop
// digits. Tf32 rows pass with it and are not lent bf16; 16-bit rows pass with truncated fp32 sums
// and are not lent 16-bit ones; fp32 rows are lent nothing.

#include <gtest/gtest.h>

#include <algorithm>

#include "conv_judge.hpp"

namespace assay {
namespace test_conv_bounds_tensor_cores {

using namespace conv_test;

/// The digits beyond a significand of `bits` are dropped.
double cut_bits(double value, int bits) {
  const auto pattern = std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<double>(pattern & ~((std::uint64_t{1} << (53 - bits)) - 1));
}

/// A tensor core as Fasi, Higham, Mikaitis & Pranesh found them ("Numerical behavior of NVIDIA
/// tensor cores", PeerJ Computer Science 7:e330, 2021): exact products, `at_once` of them and the
/// sum so far aligned to the largest of them and cut to fp32's digits and `extra` ones, added
/// exactly, and cut to fp32's. Without extra digits it is the products that lose theirs, with them
/// the sum, always towards zero.
struct Core {
  std::size_t at_once;
  int extra;
};
constexpr Core all_cores[] = {{4, 0}, {4, 3}, {8, 1}, {16, 2}};

double tensor_core(const Vector& a, const Vector& b, Core core) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i += core.at_once) {
    const std::size_t end = std::min(a.size(), i + core.at_once);
    double largest = std::abs(sum);
    for (std::size_t j = i; j < end; ++j) largest = std::max(largest, std::abs(a[j] * b[j]));
    if (largest == 0) continue;
    const double unit = std::ldexp(1, std::ilogb(largest) - 23 - core.extra);
    const auto aligned = [unit](double value) { return std::trunc(value / unit) * unit; };
    double exact = aligned(sum);
    for (std::size_t j = i; j < end; ++j) exact += aligned(a[j] * b[j]);
    sum = cut_bits(exact, 24);
  }
  return sum;
}

Arithmetic cores(Core core, const std::function<double(double)>& operand) {
  return [=](const Vector& a, const Vector& b) {
    Vector x(a), y(b);
    std::transform(x.begin(), x.end(), x.begin(), operand);
    std::transform(y.begin(), y.end(), y.begin(), operand);
    return tensor_core(x, y, core);
  };
}
double as_stored(double value) { return value; }
double rounded_tf32(double value) { return round_bits(value, 11); }
double cut_tf32(double value) { return cut_bits(value, 11); }
double rounded_bf16(double value) { return round_bits(value, 8); }

class TensorCores : public testing::TestWithParam<std::int64_t> {};

TEST_P(TensorCores, Tf32PassesRoundedOrCutWithTruncatedSums) {
  const std::int64_t k = GetParam();
  for (const Core core : all_cores)
    for (const auto& operand : {rounded_tf32, cut_tf32}) {
      const BoundUse judged =
          judge(Precision::tf32, k, outputs_for(k), cores(core, operand), 1, "fp32_rz");
      EXPECT_LT(judged.largest, 0.9) << core.at_once;
      EXPECT_LT(judged.norm, 0.9) << core.at_once;
    }
  // An arithmetic that rounds its sums, or that is fp32 throughout, is more exact still.
  EXPECT_TRUE(judge(Precision::tf32, k, outputs_for(k), rounded_inputs(11)).passed());
  EXPECT_TRUE(judge(Precision::tf32, k, outputs_for(k), blocked_fp32).passed());
}

TEST_P(TensorCores, Bf16IsNotLentToTf32) {
  const std::int64_t k = GetParam();
  EXPECT_GT(judge(Precision::tf32, k, outputs_for(k), rounded_inputs(8)).norm, 1);
  EXPECT_GT(judge(Precision::tf32, k, outputs_for(k), narrow_sum(8)).norm, 1.1);
  // The allowed drift of truncated sums hides bf16 in the end: the limit is documented.
  if (k <= 4608) {
    EXPECT_GT(
        judge(Precision::tf32, k, outputs_for(k), cores({8, 1}, rounded_bf16), 1, "fp32_rz").norm,
        1);
  }
}

TEST_P(TensorCores, SixteenBitRowsPassWithTruncatedSums) {
  const std::int64_t k = GetParam();
  for (Precision precision : {Precision::bf16, Precision::fp16}) {
    for (const Core core : all_cores) {
      const BoundUse judged =
          judge(precision, k, outputs_for(k), cores(core, as_stored), 1, "fp32_rz");
      EXPECT_LT(judged.largest, 1) << name(precision) << ' ' << core.at_once;
      EXPECT_LT(judged.norm, 0.95) << name(precision) << ' ' << core.at_once;
    }
    if (k >= 64) {
      const int bits = precision == Precision::bf16 ? 8 : 11;
      EXPECT_FALSE(judge(precision, k, outputs_for(k), narrow_sum(bits), 1, "fp32_rz").passed())
          << name(precision);
    }
  }
}

TEST_P(TensorCores, NothingIsLentToFp32) {
  const std::int64_t k = GetParam();
  for (const auto& operand : {rounded_tf32, cut_tf32, rounded_bf16})
    EXPECT_GT(judge(Precision::fp32, k, outputs_for(k), cores({8, 1}, operand), 1, "fp32_rz").norm,
              4);
  const BoundUse plain = judge(Precision::fp32, k, outputs_for(k), sequential_fp32),
                 named = judge(Precision::fp32, k, outputs_for(k), sequential_fp32, 1, "fp32_rz");
  EXPECT_EQ(plain.norm, named.norm);
  EXPECT_EQ(plain.largest, named.largest);
}

INSTANTIATE_TEST_SUITE_P(Reductions, TensorCores, testing::Values(9, 27, 64, 576, 4608, 200704),
                         testing::PrintToStringParamName());

TEST(TensorCoreBounds, LongSumsNeedTheName) {
  // The drift of 200704 truncated products is beyond what rounded sums may have: a 16-bit row that
  // does not name its accumulator fails.
  EXPECT_FALSE(judge(Precision::fp16, 200704, 100, cores({4, 3}, as_stored)).passed());
}

TEST(TensorCoreBounds, NoFalseAlarmInManySmallChecks) {
  int failed = 0;
  for (std::int64_t k : {1, 2, 3, 5, 9, 30})
    for (int outputs : {1, 2, 5, 20})
      for (std::uint64_t seed = 0; seed < 300; ++seed) {
        failed +=
            !judge(Precision::tf32, k, outputs, cores({4, 3}, cut_tf32), seed, "fp32_rz").passed();
        failed +=
            !judge(Precision::bf16, k, outputs, cores({4, 3}, as_stored), seed, "fp32_rz").passed();
      }
  EXPECT_EQ(failed, 0);
}

}  // namespace test_conv_bounds_tensor_cores
}  // namespace assay
