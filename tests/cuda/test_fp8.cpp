// Our 8-bit floating types beside those of CUDA's headers, on the host.
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/api/fp8.hpp"

namespace assay {
namespace test_fp8 {

constexpr double infinity = HUGE_VAL;

template <class Fp8>
void expect_conversions_of(__nv_fp8_interpretation_t kind) {
  const auto expect_stored = [&](double value) {
    EXPECT_EQ(store_fp8<Fp8>(value).code, __nv_cvt_double_to_fp8(value, __NV_SATFINITE, kind))
        << value;
  };
  Fp8 stored;
  for (int code = 0; code < 256; ++code) {
    stored.code = static_cast<std::uint8_t>(code);
    const float value = fp8_value(stored);
    const auto want = static_cast<float>(
        static_cast<__half>(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), kind)));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(value)) << code;
      continue;
    }
    EXPECT_EQ(value, want) << code;
    EXPECT_EQ(std::signbit(value), std::signbit(want)) << code;
    const double size = std::fabs(static_cast<double>(value));
    for (const double near : {size, std::nextafter(size, infinity), std::nextafter(size, 0),
                              size * (1 + 0x1p-4), size * (1 + 0x1p-5), size * (1 + 0x1p-3)}) {
      expect_stored(near);
      expect_stored(-near);
    }
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i)
    expect_stored(std::ldexp(std::uniform_real_distribution<double>(-2, 2)(random),
                             static_cast<int>(random() % 45) - 25));
  for (const double value : {infinity, -infinity, 1e300, 5e-324, 0.0, -0.0}) expect_stored(value);
}

TEST(Fp8, ConversionsAreThoseOfCuda) {
  expect_conversions_of<Fp8E4m3>(__NV_E4M3);
  expect_conversions_of<Fp8E5m2>(__NV_E5M2);
}

}  // namespace test_fp8
}  // namespace assay
