// Rounding is checked against independent arithmetic: nearest representable value found by search,
// ties by parity.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/api/precision.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_precision {

constexpr double infinity = std::numeric_limits<double>::infinity();
const DataType all_types[] = {DataType::fp64, DataType::fp32,     DataType::bf16,
                              DataType::fp16, DataType::s32,      DataType::s8,
                              DataType::u8,   DataType::fp8_e4m3, DataType::fp8_e5m2};

bool is_fp8(DataType type) { return size_of(type) == 1 && !is_integer(type); }

/// Value of a 16-bit pattern from the definition of the format.
double value_of(DataType type, unsigned pattern) {
  const int mantissa_bits = type == DataType::fp16 ? 10 : 7,
            bias = type == DataType::fp16 ? 15 : 127;
  const int exponent_mask = type == DataType::fp16 ? 31 : 255;
  const double sign = (pattern & 0x8000u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(pattern >> mantissa_bits) & exponent_mask;
  const double fraction = pattern & ((1u << mantissa_bits) - 1);
  if (exponent == exponent_mask) return fraction == 0 ? sign * infinity : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa_bits);
  return sign * std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

class SixteenBits : public testing::TestWithParam<DataType> {};

TEST_P(SixteenBits, EveryValueSurvives) {
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const double value = value_of(GetParam(), pattern);
    const auto stored = static_cast<std::uint16_t>(pattern);
    double loaded = 0;
    decode(GetParam(), &stored, {&loaded, 1});
    std::uint16_t again = 0;
    encode(GetParam(), {&value, 1}, &again);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(loaded));
      EXPECT_TRUE(std::isnan(value_of(GetParam(), again)));
    } else {
      ASSERT_EQ(loaded, value) << pattern;
      ASSERT_EQ(again, pattern);
    }
  }
}

/// Numbers between each two neighbours: the midpoint goes to the even one, and anything beside it
/// to the nearer one, however small the difference; rounding by way of fp32 gets these wrong.
TEST_P(SixteenBits, RoundsOnceToNearestEven) {
  const unsigned last = GetParam() == DataType::fp16 ? 0x7bff : 0x7f7f;
  for (unsigned pattern = 0; pattern < last; ++pattern) {
    const double low = value_of(GetParam(), pattern), high = value_of(GetParam(), pattern + 1),
                 middle = (low + high) / 2;
    const double even = (pattern & 1u) == 0 ? low : high;
    for (const double sign : {1.0, -1.0}) {
      ASSERT_EQ(round_to(GetParam(), sign * middle), sign * even) << pattern;
      ASSERT_EQ(round_to(GetParam(), sign * std::nextafter(middle, infinity)), sign * high)
          << pattern;
      ASSERT_EQ(round_to(GetParam(), sign * std::nextafter(middle, 0)), sign * low) << pattern;
      ASSERT_EQ(round_to(GetParam(), sign * std::nextafter(high, 0)), sign * high) << pattern;
    }
  }
}

TEST_P(SixteenBits, Overflows) {
  const unsigned last = GetParam() == DataType::fp16 ? 0x7bff : 0x7f7f;
  const double largest = value_of(GetParam(), last),
               next = 2 * largest - value_of(GetParam(), last - 1);
  const double limit = (largest + next) / 2;
  EXPECT_EQ(round_to(GetParam(), std::nextafter(limit, 0)), largest);
  EXPECT_EQ(round_to(GetParam(), limit),
            infinity);  // a tie goes to the even one, which would be the next power of two
  EXPECT_EQ(round_to(GetParam(), -limit), -infinity);
  EXPECT_EQ(round_to(GetParam(), 1e300), infinity);
}

INSTANTIATE_TEST_SUITE_P(Types, SixteenBits, testing::Values(DataType::fp16, DataType::bf16),
                         [](const auto& info) { return std::string(name(info.param)); });

/// Value of an 8-bit pattern from the definition of the format (OFP8, revision 1.0).
double fp8_of(DataType type, unsigned pattern) {
  const bool e4m3 = type == DataType::fp8_e4m3;
  const int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, exponent_mask = e4m3 ? 15 : 31;
  const double sign = (pattern & 0x80u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(pattern >> mantissa_bits) & exponent_mask,
            fraction = static_cast<int>(pattern & ((1u << mantissa_bits) - 1));
  if (exponent == exponent_mask && (!e4m3 || fraction == 7))
    return !e4m3 && fraction == 0 ? sign * infinity : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa_bits);
  return sign * std::ldexp(fraction + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

class EightBits : public testing::TestWithParam<DataType> {};

TEST_P(EightBits, EveryValueSurvives) {
  for (unsigned pattern = 0; pattern < 0x100; ++pattern) {
    const double value = fp8_of(GetParam(), pattern);
    const auto stored = static_cast<std::uint8_t>(pattern);
    double loaded = 0;
    decode(GetParam(), &stored, {&loaded, 1});
    std::uint8_t again = 0;
    encode(GetParam(), {&value, 1}, &again);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(loaded)) << pattern;
      EXPECT_TRUE(std::isnan(fp8_of(GetParam(), again))) << pattern;
    } else {
      EXPECT_EQ(loaded, value) << pattern;
      EXPECT_EQ(std::signbit(loaded), std::signbit(value)) << pattern;
      if (std::isfinite(value)) {
        EXPECT_EQ(again, pattern);
      }
    }
  }
}

TEST_P(EightBits, RoundsOnceToNearestEven) {
  const unsigned last = GetParam() == DataType::fp8_e4m3 ? 0x7e : 0x7b;
  for (unsigned pattern = 0; pattern < last; ++pattern) {
    const double low = fp8_of(GetParam(), pattern), high = fp8_of(GetParam(), pattern + 1),
                 middle = (low + high) / 2;
    const double even = (pattern & 1u) == 0 ? low : high;
    for (const double sign : {1.0, -1.0}) {
      EXPECT_EQ(round_to(GetParam(), sign * middle), sign * even) << pattern;
      EXPECT_EQ(round_to(GetParam(), sign * std::nextafter(middle, infinity)), sign * high)
          << pattern;
      EXPECT_EQ(round_to(GetParam(), sign * std::nextafter(middle, 0)), sign * low) << pattern;
      EXPECT_EQ(round_to(GetParam(), sign * std::nextafter(high, 0)), sign * high) << pattern;
    }
  }
}

/// The conversion is that of cuda_fp8.h with __NV_SATFINITE.
TEST_P(EightBits, Saturates) {
  const double largest = GetParam() == DataType::fp8_e4m3 ? 448 : 57344;
  for (const double value :
       {largest, std::nextafter(largest, infinity), 1.2 * largest, 1e300, infinity}) {
    EXPECT_EQ(round_to(GetParam(), value), largest);
    EXPECT_EQ(round_to(GetParam(), -value), -largest);
  }
  EXPECT_TRUE(std::isnan(round_to(GetParam(), std::nan(""))));
  EXPECT_TRUE(std::signbit(round_to(GetParam(), -0.0)));
  EXPECT_TRUE(std::signbit(round_to(GetParam(), -1e-300)));
}

INSTANTIATE_TEST_SUITE_P(Types, EightBits, testing::Values(DataType::fp8_e4m3, DataType::fp8_e5m2),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(Precision, RoundedValuesAreFixedPointsWithinTheUnitRoundoff) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                                    static_cast<int>(random() % 20));
    for (const DataType type : all_types) {
      const double rounded = round_to(type, value);
      ASSERT_EQ(round_to(type, rounded), rounded) << name(type) << " " << value;
      const double largest = type == DataType::fp8_e4m3   ? 448
                             : type == DataType::fp8_e5m2 ? 57344
                                                          : infinity;
      if (!is_integer(type) && std::isfinite(rounded) && std::fabs(value) <= largest) {
        // Below the smallest normal number the error is absolute.
        const double smallest = type == DataType::fp16       ? 0x1p-25
                                : type == DataType::fp8_e4m3 ? 0x1p-10
                                : type == DataType::fp8_e5m2 ? 0x1p-17
                                                             : 0;
        ASSERT_LE(std::fabs(rounded - value),
                  std::max(unit_roundoff(type) * std::fabs(value), smallest))
            << name(type) << " " << value;
      }
      ASSERT_EQ(round_to(type, -value) == -rounded || type == DataType::u8 || is_integer(type),
                true);
    }
  }
}

TEST(Precision, IntegersSaturateAndRoundToEven) {
  EXPECT_EQ(round_to(DataType::s8, 127.4), 127);
  EXPECT_EQ(round_to(DataType::s8, 127.5), 127);
  EXPECT_EQ(round_to(DataType::s8, 1e30), 127);
  EXPECT_EQ(round_to(DataType::s8, -1e30), -128);
  EXPECT_EQ(round_to(DataType::s8, -infinity), -128);
  EXPECT_EQ(round_to(DataType::u8, -0.6), 0);
  EXPECT_EQ(round_to(DataType::u8, 255.5), 255);
  EXPECT_EQ(round_to(DataType::u8, 2.5), 2);
  EXPECT_EQ(round_to(DataType::u8, 3.5), 4);
  EXPECT_EQ(round_to(DataType::s32, -2.5), -2);
  EXPECT_EQ(round_to(DataType::s32, 0.49999999999999994), 0);
  EXPECT_EQ(round_to(DataType::s32, 2147483647.5), 2147483647);
  EXPECT_EQ(round_to(DataType::s32, -2147483648.0), -2147483648.0);
  EXPECT_EQ(round_to(DataType::s8, std::nan("")), 0);
}

TEST(Precision, NanAndInfinitySurviveInFloatingTypes) {
  for (const DataType type : all_types) {
    if (is_integer(type) || is_fp8(type)) continue;
    EXPECT_TRUE(std::isnan(round_to(type, std::nan("")))) << name(type);
    EXPECT_TRUE(std::isnan(round_to(type, -std::nan("")))) << name(type);
    EXPECT_EQ(round_to(type, infinity), infinity);
    EXPECT_EQ(round_to(type, -infinity), -infinity);
    EXPECT_TRUE(std::signbit(round_to(type, -0.0)));
  }
}

TEST(Precision, BlocksAgreeWithSingleValues) {
  std::mt19937_64 random(2);
  for (const DataType type : all_types)
    for (const std::size_t count : {0u, 1u, 3u, 8u, 17u, 1000u}) {
      std::vector<double> values(count), back(count);
      for (double& value : values) value = std::normal_distribution<double>(0, 100)(random);
      // One byte beyond must stay as it was.
      std::vector<unsigned char> packed(count * size_of(type) + 1, 0xa5);
      encode(type, values, packed.data());
      EXPECT_EQ(packed.back(), 0xa5);
      decode(type, packed.data(), back);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(back[i], round_to(type, values[i])) << name(type) << " " << values[i];
    }
}

TEST(Precision, Names) {
  for (const DataType type : all_types) EXPECT_EQ(data_type(name(type)), type);
  for (const std::string& text : list_precision_names()) EXPECT_EQ(name(precision(text)), text);
  EXPECT_EQ(storage(Precision::tf32), DataType::fp32);
  EXPECT_EQ(storage(Precision::int8), DataType::u8);
  EXPECT_EQ(storage(Precision::bf16), DataType::bf16);
  EXPECT_EQ(list_precision_names(),
            (std::vector<std::string>{"fp64", "fp32", "tf32", "bf16", "fp16", "int8", "bf16_fp32",
                                      "fp16_fp32", "fp8_e4m3", "fp8_e5m2"}));
  try {
    precision("bf61");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'bf16'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(data_type("fp8"), InputError);
  EXPECT_THROW(data_type(""), InputError);
}

TEST(Precision, SaysWhatIsReadWrittenAndSummed) {
  for (const Precision one : {Precision::fp64, Precision::fp32, Precision::tf32, Precision::bf16,
                              Precision::fp16, Precision::int8}) {
    EXPECT_EQ(format(one).precision, one);
    EXPECT_FALSE(is_mixed(one)) << name(one);
    EXPECT_EQ(arithmetic_name(std::string(name(one))), name(one));
  }
  EXPECT_EQ(format(Precision::int8).output, DataType::s32);
  EXPECT_EQ(format(Precision::bf16).accumulator, DataType::fp32);
  for (const auto& [mixed, input] : {std::pair{Precision::bf16_fp32, Precision::bf16},
                                     {Precision::fp16_fp32, Precision::fp16}}) {
    EXPECT_TRUE(is_mixed(mixed));
    EXPECT_EQ(storage(mixed), storage(input));
    EXPECT_EQ(format(mixed).output, DataType::fp32);
    EXPECT_EQ(arithmetic_name(std::string(name(mixed))), name(input));
  }
  EXPECT_EQ(arithmetic_name("int32"), "int32");  // of collectives
  for (const Precision one : {Precision::fp8_e4m3, Precision::fp8_e5m2}) {
    EXPECT_TRUE(assay::is_fp8(one));
    EXPECT_TRUE(is_mixed(one));
    EXPECT_EQ(name(storage(one)), name(one));
    EXPECT_EQ(weight_type(one), DataType::fp8_e4m3);
    EXPECT_EQ(format(one).output, DataType::bf16);
    EXPECT_EQ(arithmetic_name(std::string(name(one))), name(one));
  }
  EXPECT_FALSE(assay::is_fp8(Precision::int8));
  EXPECT_EQ(weight_type(Precision::int8), DataType::s8);
  EXPECT_EQ(weight_type(Precision::bf16_fp32), DataType::bf16);
}

}  // namespace test_precision
}  // namespace assay
