#include "analysis/number_formats.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace assay {
namespace test_number_formats {

/// They are printed in N. J. Higham's table of 2018, which R. Archibald et al. show in "Integrating
/// Deep Learning in Domain Sciences at Exascale" (2020).
TEST(NumberFormats, AreThoseOfThePublishedTable) {
  const struct {
    Precision precision;
    int significand, exponent;
    const char *smallest, *largest;
  } published[] = {{Precision::bf16, 8, 8, "1.18e-38", "3.39e+38"},
                   {Precision::fp16, 11, 5, "6.10e-05", "6.55e+04"},
                   {Precision::fp32, 24, 8, "1.18e-38", "3.40e+38"}};
  for (const auto& row : published) {
    const FloatFormat format = float_format(row.precision);
    EXPECT_EQ(format.significand_bits, row.significand);
    EXPECT_EQ(format.exponent_bits, row.exponent);
    EXPECT_EQ(fmt::format("{:.2e}", format.smallest), row.smallest);
    EXPECT_EQ(fmt::format("{:.2e}", format.largest), row.largest);
  }
}

TEST(NumberFormats, AreThoseOfTheCompiler) {
  const FloatFormat fp64 = float_format(Precision::fp64), fp32 = float_format(Precision::fp32);
  EXPECT_EQ(fp64.significand_bits, std::numeric_limits<double>::digits);
  EXPECT_EQ(fp64.exponent_bits, 11);
  EXPECT_EQ(fp64.smallest, std::numeric_limits<double>::min());
  EXPECT_EQ(fp64.largest, std::numeric_limits<double>::max());
  EXPECT_EQ(fp32.smallest, std::numeric_limits<float>::min());
  EXPECT_EQ(fp32.largest, std::numeric_limits<float>::max());
  EXPECT_EQ(fp32.roundoff, std::numeric_limits<float>::epsilon() / 2);
}

TEST(NumberFormats, Tf32HasTheRangeOfFp32AndTheSignificandOfFp16) {
  const FloatFormat tf32 = float_format(Precision::tf32);
  EXPECT_EQ(tf32.exponent_bits, 8);
  EXPECT_EQ(tf32.significand_bits, 11);
  EXPECT_EQ(tf32.roundoff, 0x1p-11);
  EXPECT_EQ(tf32.smallest, std::numeric_limits<float>::min());
}

/// OCP 8-bit Floating Point Specification, revision 1.0, table 1.
TEST(NumberFormats, Fp8HasTheRangesOfItsSpecification) {
  const FloatFormat e4m3 = float_format(Precision::fp8_e4m3),
                    e5m2 = float_format(Precision::fp8_e5m2);
  EXPECT_EQ(e4m3.significand_bits, 4);
  EXPECT_EQ(e4m3.exponent_bits, 4);
  EXPECT_EQ(e4m3.smallest, 0x1p-6);
  EXPECT_EQ(e4m3.largest, 448);
  EXPECT_EQ(e5m2.significand_bits, 3);
  EXPECT_EQ(e5m2.exponent_bits, 5);
  EXPECT_EQ(e5m2.smallest, 0x1p-14);
  EXPECT_EQ(e5m2.largest, 57344);
}

TEST(NumberFormats, IntegersHaveNoFloatFormat) {
  EXPECT_THROW(float_format(Precision::int8), std::logic_error);
  const std::string table = render_precision_table();
  EXPECT_NE(table.find("u8, s8"), std::string::npos);
  EXPECT_NE(table.find("-   255, 127"), std::string::npos) << "no smallest normal number\n"
                                                           << table;
  EXPECT_NE(table.find("fp8_e4m3, e5m2 "), std::string::npos) << table;
}

TEST(NumberFormats, TheTableNamesEveryPrecision) {
  const std::string table = render_precision_table();
  for (const std::string& name : list_precision_names())
    EXPECT_NE(table.find("\n" + name), std::string::npos) << table;
}

}  // namespace test_number_formats
}  // namespace assay
