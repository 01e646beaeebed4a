#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "core/base/units.hpp"

namespace test_units {

using assay::format_seconds;
using assay::format_with_unit;

TEST(Units, KnownValues) {
  EXPECT_EQ(format_with_unit(1.85e11, "FLOP/s"), "185 GFLOP/s");
  EXPECT_EQ(format_with_unit(9.994e9, "FLOP/s"), "9.99 GFLOP/s");
  EXPECT_EQ(format_with_unit(9.996e9, "FLOP/s"), "10.0 GFLOP/s");
  EXPECT_EQ(format_with_unit(999.4e9, "B/s"), "999 GB/s");
  EXPECT_EQ(format_with_unit(999.6e9, "B/s"), "1.00 TB/s");
  EXPECT_EQ(format_with_unit(0, "B/s"), "0 B/s");
  EXPECT_EQ(format_with_unit(-1500, "B"), "-1.50 kB");
  EXPECT_EQ(format_seconds(1.234e-3), "1.23 ms");
  EXPECT_EQ(format_seconds(0.9999), "1.00 s");
  EXPECT_EQ(format_seconds(6.3e-5), "63.0 \u00b5s");
  EXPECT_EQ(format_seconds(4321), "4321 s");
  EXPECT_EQ(format_with_unit(std::numeric_limits<double>::quiet_NaN(), "s"), "?");
  EXPECT_EQ(format_with_unit(std::numeric_limits<double>::infinity(), "s"), "?");
}

TEST(Units, ARangeNamesACommonUnitOnce) {
  EXPECT_EQ(assay::format_seconds_range(1e-3, 9e-3), "1.00 .. 9.00 ms");
  EXPECT_EQ(assay::format_seconds_range(7.9e-7, 1.5e-6), "790 ns .. 1.50 \u00b5s");
  EXPECT_EQ(assay::format_seconds_range(0.5, 2), "500 ms .. 2.00 s");
  EXPECT_EQ(assay::format_seconds_range(std::numeric_limits<double>::quiet_NaN(), 2),
            "? .. 2.00 s");
}

TEST(Units, APercentageHasNoExponent) {
  EXPECT_EQ(assay::format_percentage(0.0052), "0.52 %");
  EXPECT_EQ(assay::format_percentage(0.0314), "3.1 %");
  EXPECT_EQ(assay::format_percentage(0.5), "50 %");
  EXPECT_EQ(assay::format_percentage(0.9949), "99 %");
  EXPECT_EQ(assay::format_percentage(0.999), "100 %");
  EXPECT_EQ(assay::format_percentage(54.14), "5414 %");
}

TEST(Units, ARateHasTheUnitThatItsNameEndsIn) {
  EXPECT_EQ(assay::format_rate("flops_per_s", 1.134e11), "113 GFLOP/s");
  EXPECT_EQ(assay::format_rate("algorithmic_flops_per_s", 2e9), "2.00 GFLOP/s");
  EXPECT_EQ(assay::format_rate("bytes_per_s", 2.18e9), "2.18 GB/s");
  EXPECT_EQ(assay::format_rate("busbw", 4.65e9), "4.65 GB/s");
  EXPECT_EQ(assay::format_rate("deepbench_bw", 4.65e9), "4.65 GB/s");
  EXPECT_EQ(assay::format_rate("loads_per_s", 1e9 / 96.4), "96.4 ns/load");
  EXPECT_EQ(assay::format_rate("images_per_s", 3410.52), "3411 images/s");
  EXPECT_EQ(assay::format_rate("images_per_s", 13.9832), "13.98 images/s");
  EXPECT_EQ(assay::format_rate("images_per_s", 9999.9), "10.0 kimages/s");
  EXPECT_EQ(assay::format_rate("elements_per_s", 1.2e9), "1.20 Gelements/s");
  EXPECT_EQ(assay::format_rate("% of 1024 GB/s", 80), "80 % of 1024 GB/s");
  EXPECT_EQ(assay::format_rate_label("flops_per_s"), "");
  EXPECT_EQ(assay::format_rate_label("algorithmic_flops_per_s"), "algorithmic");
  EXPECT_EQ(assay::format_rate_label("busbw"), "busbw");
  EXPECT_EQ(assay::format_rate_label("images_per_s"), "");
}

/// The number that a person reads back.
double read_back(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_EQ(error, std::errc()) << text;
  std::string unit(end, text.data() + text.size());
  const std::pair<const char*, double> prefixes[] = {
      {" nX", 1e-9}, {" \u00b5X", 1e-6}, {" mX", 1e-3}, {" X", 1},     {" kX", 1e3},
      {" MX", 1e6},  {" GX", 1e9},       {" TX", 1e12}, {" PX", 1e15}, {" EX", 1e18}};
  for (const auto& [name, factor] : prefixes)
    if (unit == name) return number * factor;
  ADD_FAILURE() << "no unit in " << text;
  return 0;
}

TEST(Units, EveryMagnitudeReadsBackToThreeDigits) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-8.99, 20.9);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    const std::string text = format_with_unit(value, "X");
    ASSERT_NEAR(read_back(text) / value, 1, 0.0051) << value << " " << text;
    ASSERT_LE(text.find(' '), 4u) << text;
  }
}

TEST(Units, RoundingNeverPrintsFourDigits) {
  for (int power = -8; power <= 20; ++power)
    for (const double near : {0.99949, 0.9995, 0.99951, 0.999999999, 1.0, 1.0000001}) {
      const std::string text = format_with_unit(near * std::pow(10.0, power), "X");
      EXPECT_LE(text.find(' '), 4u) << text;
    }
}

}  // namespace test_units
