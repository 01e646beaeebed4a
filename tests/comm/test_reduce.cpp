#include "comm/reduce.hpp"

#include <gtest/gtest.h>

#include "support/simd/targets.hpp"

#include <hwy/highway.h>
#include <hwy/tests/hwy_gtest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace assay {
namespace test_reduce {

template <class T>
Buffer of(DataType type, std::vector<T>& values) {
  return {values.data(), static_cast<std::int64_t>(values.size()), type};
}

/// Each by every instruction set of this processor.
class Reduce : public hwy::TestWithParamTarget {};
HWY_TARGET_INSTANTIATE_TEST_SUITE_P(Reduce);

/// All 65536 patterns.
std::vector<std::uint16_t> patterns() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

TEST_P(Reduce, EverySixteenBitNumberConvertsLikeEigens) {
  for (const DataType type : {DataType::fp16, DataType::bf16}) {
    std::vector<std::uint16_t> all = patterns(), back(all.size());
    std::vector<float> values(all.size());
    convert(of(DataType::fp32, values), of(type, all));
    convert(of(type, back), of(DataType::fp32, values));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float theirs =
          type == DataType::fp16
              ? static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(all[i]))
              : static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(all[i]));
      if (std::isnan(theirs)) {
        ASSERT_TRUE(std::isnan(values[i])) << i;
        ASSERT_EQ(back[i] & 0x8000, all[i] & 0x8000) << i;
        continue;
      }
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(theirs)) << i;
      ASSERT_EQ(back[i], all[i]);
    }
  }
}

TEST_P(Reduce, RoundingIsToNearestEvenAtEveryTieAndBesideIt) {
  constexpr float most = std::numeric_limits<float>::infinity();
  // Halfway between all neighbours, and one fp32 step to either side.
  for (const DataType type : {DataType::fp16, DataType::bf16}) {
    std::vector<std::uint16_t> all = patterns();
    std::vector<float> values(all.size()), between;
    convert(of(DataType::fp32, values), of(type, all));
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (!std::isfinite(values[i]) || !std::isfinite(values[i + 1])) continue;
      const float half = values[i] + (values[i + 1] - values[i]) / 2;
      for (const float number : {half, std::nextafter(half, most), std::nextafter(half, -most)})
        between.push_back(number);
    }
    for (const float number : {65519.99f, 65520.f, 1e9f, -1e9f, 3.4e38f, 1e-9f, -1e-45f,
                               std::numeric_limits<float>::infinity()})
      between.push_back(number);
    std::vector<std::uint16_t> rounded(between.size());
    convert(of(type, rounded), of(DataType::fp32, between));
    for (std::size_t i = 0; i < between.size(); ++i) {
      const std::uint16_t theirs =
          type == DataType::fp16
              ? Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(between[i]))
              : Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(between[i]));
      ASSERT_EQ(rounded[i], theirs) << name(type) << " of " << between[i];
    }
  }
}

TEST_P(Reduce, NanStaysNan) {
  // Its mantissa's upper bits may be zero: rounded like a number it would become infinity.
  std::vector<float> nan{std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)};
  for (const DataType type : {DataType::fp16, DataType::bf16}) {
    std::vector<std::uint16_t> stored(nan.size());
    std::vector<float> back(nan.size());
    convert(of(type, stored), of(DataType::fp32, nan));
    convert(of(DataType::fp32, back), of(type, stored));
    for (const float number : back) EXPECT_TRUE(std::isnan(number));
  }
}

TEST_P(Reduce, EveryTypeAndOperationGivesTheValueRoundedOnce) {
  std::mt19937 random(1);
  for (const DataType type :
       {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::s32}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::average}) {
      for (const std::size_t count : {0u, 1u, 7u, 16u, 1001u}) {
        std::vector<double> x(count), y(count), got(count);
        for (std::size_t i = 0; i < count; ++i) {
          x[i] = round_to(type, (static_cast<double>(random()) / 4e9 - 0.5) * 1000);
          y[i] = round_to(type, (static_cast<double>(random()) / 4e9 - 0.5) * 1000);
        }
        std::vector<std::byte> a(count * 8 + 8), b(count * 8 + 8), into(count * 8 + 8);
        encode(type, x, a.data());
        encode(type, y, b.data());
        const auto n = static_cast<std::int64_t>(count);
        combine({into.data(), n, type}, {a.data(), n, type}, {b.data(), n, type}, op);
        reduce_into({a.data(), n, type}, {b.data(), n, type}, op);
        EXPECT_EQ(std::memcmp(a.data(), into.data(), count * size_of(type)), 0);
        decode(type, into.data(), got);
        for (std::size_t i = 0; i < count; ++i) {
          const double exact = op == ReduceOp::min   ? std::min(x[i], y[i])
                               : op == ReduceOp::max ? std::max(x[i], y[i])
                                                     : x[i] + y[i];
          // fp16 and bf16 sums of such numbers are exact in fp32, so one rounding is all there is.
          ASSERT_EQ(got[i], round_to(type, exact)) << name(type) << " " << name(op);
        }
        if (op != ReduceOp::average || why_not_reduce(type, op) != "") continue;
        scale({into.data(), n, type}, 3);
        const std::vector<double> sums = got;
        decode(type, into.data(), got);
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(got[i], round_to(type, sums[i] / 3)) << name(type);
      }
    }
  }
}

TEST_P(Reduce, ResultsGoToEveryOtherPlaceAndNowhereElse) {
  constexpr std::size_t room = 1600;
  for (const DataType type :
       {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16, DataType::s32}) {
    const std::size_t size = size_of(type);
    std::vector<double> x(200), y(200);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i % 100);
      y[i] = static_cast<double>(i % 7);
    }
    std::vector<std::byte> a(room), b(room), into(room), first(room), second(room);
    encode(type, x, a.data());
    encode(type, y, b.data());
    for (const std::size_t count : {0u, 1u, 15u, 16u, 33u, 64u, 129u, 160u}) {
      for (std::size_t at = 0; at < 128; at += size) {
        const auto n = static_cast<std::int64_t>(count);
        // The second begins elsewhere in a line than the first, or alike.
        for (const std::size_t other : {at / 2 / size * size, at + 64}) {
          for (std::vector<std::byte>* memory : {&into, &first, &second})
            std::fill(memory->begin(), memory->end(), std::byte{0xee});
          std::byte* const also[] = {first.data() + at, second.data() + other};
          const Buffer result{into.data(), n, type}, addend{b.data(), n, type};
          combine(result, {a.data(), n, type}, addend, ReduceOp::sum, also);
          std::vector<double> got(count);
          decode(type, into.data(), got);
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], x[i] + y[i]) << name(type);
          const auto only = [&](const std::vector<std::byte>& all, const std::byte* here) {
            ASSERT_EQ(std::memcmp(here, into.data(), count * size), 0) << name(type) << " " << at;
            for (const std::byte& byte : all)
              ASSERT_TRUE((&byte >= here && &byte < here + count * size) || byte == std::byte{0xee})
                  << name(type) << ", " << count << " elements at byte " << at;
          };
          only(into, into.data());
          only(first, also[0]);
          only(second, also[1]);
          combine(result, result, addend, ReduceOp::sum, also);
          decode(type, also[1], got);
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(got[i], x[i] + 2 * y[i]) << name(type);
        }
      }
    }
  }
}

TEST_P(Reduce, MinimumAndMaximumTakeTheFirstWhereOneIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(40, nan), y(40, 1), into(40);
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    combine(of(DataType::fp32, into), of(DataType::fp32, x), of(DataType::fp32, y), op);
    for (const float number : into) EXPECT_TRUE(std::isnan(number));
    combine(of(DataType::fp32, into), of(DataType::fp32, y), of(DataType::fp32, x), op);
    for (const float number : into) EXPECT_EQ(number, 1);
  }
}

TEST_P(Reduce, DoublesAreConvertedByWayOfFloats) {
  std::vector<double> values(1003), back(1003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 3 - 100;
  values[5] = std::numeric_limits<double>::infinity();
  values[1002] = -1e300;
  for (const DataType type : {DataType::fp32, DataType::fp16, DataType::bf16}) {
    std::vector<std::byte> stored(values.size() * 4);
    const Buffer there{stored.data(), static_cast<std::int64_t>(values.size()), type};
    convert(there, of(DataType::fp64, values));
    convert(of(DataType::fp64, back), there);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(back[i], round_to(type, round_to(DataType::fp32, values[i]))) << name(type);
  }
  std::vector<std::int32_t> integers(3);
  EXPECT_THROW(convert(of(DataType::s32, integers), of(DataType::fp64, values)), std::logic_error);
}

TEST_P(Reduce, IntegersWrapAndHaveNoMean) {
  std::vector<std::int32_t> most{std::numeric_limits<std::int32_t>::max()}, unit{1};
  reduce_into(of(DataType::s32, most), of(DataType::s32, unit), ReduceOp::sum);
  EXPECT_EQ(most[0], std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(why_not_reduce(DataType::s32, ReduceOp::sum), "");
  EXPECT_EQ(why_not_reduce(DataType::s32, ReduceOp::average),
            "no average of s32 (the average of integers is not an integer)");
  EXPECT_NE(why_not_reduce(DataType::u8, ReduceOp::sum), "");
  EXPECT_EQ(why_not_reduce(DataType::bf16, ReduceOp::average), "");
}

}  // namespace test_reduce
}  // namespace assay
