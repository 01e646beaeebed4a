// Sums that are split into parts, which are stored and added in the 16 bits of the result, as some
// kernels of cuDNN do: simulated ones pass, and faults that are little larger than the bound fail.

#include <gtest/gtest.h>

#include <utility>

#include "conv_judge.hpp"

namespace assay {
namespace test_conv_bounds_parts {

using namespace conv_test;

constexpr Precision narrow[] = {Precision::fp16, Precision::bf16};

int bits_of(Precision precision) { return precision == Precision::fp16 ? 11 : 8; }
double u_of(Precision precision) { return unit_roundoff(storage(precision)); }

Execution split(Precision precision, double parts = sums::most_parts,
                const std::string& evidence = "trace") {
  Execution execution = honest(precision);
  execution.accumulate = name(storage(precision));
  execution.numbers[sums::partial_sums] = parts;
  execution.evidence = evidence;
  return execution;
}

/// Parts in fp32, each rounded to `bits`, as are their sums, made one after the other.
Arithmetic in_parts(std::size_t parts, int bits) {
  return [=](const Vector& a, const Vector& b) {
    const auto begin = [&](std::size_t part) {
      return static_cast<std::ptrdiff_t>(a.size() * part / parts);
    };
    double sum = 0;
    for (std::size_t i = 0; i < parts; ++i)
      sum = round_bits(
          sum + round_bits(blocked_fp32({a.begin() + begin(i), a.begin() + begin(i + 1)},
                                        {b.begin() + begin(i), b.begin() + begin(i + 1)}),
                           bits),
          bits);
    return sum;
  };
}

class Parts : public testing::TestWithParam<std::int64_t> {};

TEST_P(Parts, PassWithMargin) {
  const std::int64_t k = GetParam();
  for (const Precision precision : narrow)
    for (const std::size_t parts : {2, 20, 32}) {
      const Arithmetic right = in_parts(parts, bits_of(precision));
      const BoundUse judged = judge(split(precision), precision, k, outputs_for(k), right, 1);
      EXPECT_LT(judged.largest, 0.4) << name(precision) << ' ' << parts;
      EXPECT_LT(judged.norm, 0.5) << name(precision) << ' ' << parts;
      // Without the claim they are wrong, where the drift of truncated sums does not hide them.
      if (parts < 20 || k > 4608) continue;
      EXPECT_GT(judge(precision, k, outputs_for(k), right, 1, sums::truncating_fp32).norm, 1);
    }
}

/// The error of one element, which nothing else tells, is bounded: docs/method-conv.md.
TEST_P(Parts, FaultsOfSingleElementsAreFound) {
  const std::int64_t k = GetParam();
  for (const Precision precision : narrow) {
    const double u = u_of(precision), fault = 66 * u * std::sqrt(static_cast<double>(k)) / 3;
    const Arithmetic right = in_parts(32, bits_of(precision));
    const Arithmetic wrong = [&, first = true](const Vector& a, const Vector& b) mutable {
      return right(a, b) + (std::exchange(first, false) ? fault : 0);
    };
    const BoundUse judged = judge(split(precision), precision, k, outputs_for(k), wrong, 1);
    EXPECT_GT(judged.largest, 1) << name(precision);
    EXPECT_LT(judged.norm, 1) << name(precision);
    EXPECT_LT(judged.widest, 66 * u) << name(precision);
    EXPECT_LT(judged.usual, 45 * u) << name(precision);
  }
}

/// Each result is within its own bound, the norm is not.
TEST_P(Parts, FaultsOfAllElementsAreFound) {
  const std::int64_t k = GetParam();
  for (const Precision precision : narrow) {
    const double factor = 1 + (k > 4608 ? 14 : 8) * u_of(precision);
    const Arithmetic right = in_parts(32, bits_of(precision));
    const Arithmetic wrong = [&](const Vector& a, const Vector& b) { return factor * right(a, b); };
    const BoundUse judged = judge(split(precision), precision, k, outputs_for(k), wrong, 1);
    EXPECT_LT(judged.largest, 1) << name(precision);
    EXPECT_GT(judged.norm, 1) << name(precision);
  }
}

/// A claim alone counts as it is, and not as one that the kernels' names or the library prove.
TEST_P(Parts, AreBoundedByWhatIsProved) {
  const std::int64_t k = GetParam();
  const auto widest = [&](const Execution& execution) {
    return judge(execution, Precision::fp16, k, 64, in_parts(20, 11), 1).widest;
  };
  EXPECT_EQ(widest(split(Precision::fp16)), widest(split(Precision::fp16, 32, "library")));
  EXPECT_EQ(widest(split(Precision::fp16)), widest(split(Precision::fp16, 1e6)));
  EXPECT_LT(widest(split(Precision::fp16, 8)), widest(split(Precision::fp16)));
}

INSTANTIATE_TEST_SUITE_P(Reductions, Parts, testing::Values(576, 4608, 50176, 200704),
                         testing::PrintToStringParamName());

/// There is a pass with integers, in which one wrong element of all is found, up to this length.
TEST(PartsOfIntegers, AreExactUpToALengthThatIsDocumented) {
  const auto magnitude = [](Precision precision, double k) {
    return sums::exact_magnitude(precision, split(precision), storage(precision), k);
  };
  EXPECT_GT(magnitude(Precision::fp16, 70'000), 0);
  EXPECT_EQ(magnitude(Precision::fp16, 80'000), 0);
  EXPECT_GT(magnitude(Precision::bf16, 1000), 0);
  EXPECT_EQ(magnitude(Precision::bf16, 1100), 0);
}

}  // namespace test_conv_bounds_parts
}  // namespace assay
