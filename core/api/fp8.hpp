#pragma once
// The floating types of 8 bits (OCP 8-bit Floating Point Specification, revision 1.0), for host and
// devices. Both have subnormal numbers, and a sign of zero.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/api/item_code.hpp"

namespace assay {

/// Bits: sign, 4 of the exponent, 3 of the significand. It has no infinity; if all bits of exponent
/// and significand are 1, it is NaN.
struct Fp8E4m3 {
  static constexpr int digits = 4, bias = 7;  ///< of the significand, its first bit included
  static constexpr int largest_code = 0x7e, nan_code = 0x7f;
  static constexpr double largest = 448;
  std::uint8_t code = 0;
};

/// S.EEEEE.MM: as IEEE 754's formats, with infinities.
struct Fp8E5m2 {
  static constexpr int digits = 3, bias = 15;
  static constexpr int largest_code = 0x7b, nan_code = 0x7e;
  static constexpr double largest = 57344;
  std::uint8_t code = 0;
};

/// The value, exactly.
template <class Fp8>
ASSAY_ITEM float fp8_value(Fp8 stored) {
  constexpr int dropped = 24 - Fp8::digits;  // places of fp32's significand that are zero
  const std::uint32_t magnitude = stored.code & 0x7fu;
  std::uint32_t bits = (magnitude << dropped) + (static_cast<std::uint32_t>(127 - Fp8::bias) << 23);
  if (magnitude > static_cast<std::uint32_t>(Fp8::largest_code)) {
    const bool infinite = Fp8::digits == 3 && magnitude == 0x7c;
    bits = infinite ? 0x7f800000u : 0x7fc00000u;
  }
  float value;
  std::memcpy(&value, &bits, sizeof value);
  // Subnormal numbers lack the leading one that was added above.
  if (magnitude >> (Fp8::digits - 1) == 0) {
    const std::uint32_t step_bits = static_cast<std::uint32_t>(127 + 2 - Fp8::bias - Fp8::digits)
                                    << 23;  // 2^(1 - bias - (digits - 1))
    std::memcpy(&value, &step_bits, sizeof value);
    value *= static_cast<float>(magnitude);
  }
  return (stored.code & 0x80u) != 0 ? -value : value;
}

/// Rounds to nearest, ties to even, and saturates: larger values and infinity become the largest
/// number, as in the conversions of CUDA (__NV_SATFINITE) and the results of cuBLASLt.
template <class Fp8>
ASSAY_ITEM Fp8 store_fp8(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<std::uint32_t>(bits >> 63) << 7;
  double size = std::fabs(value);
  std::uint32_t code = Fp8::nan_code;
  if (size >= Fp8::largest) {
    code = Fp8::largest_code;
  } else if (size == size) {
    // `shift` is 1.5 * 2^52 times the distance of neighbouring numbers, 2^(max(exponent, 1 - bias)
    // - (digits - 1)). Adding it to `size` rounds to a multiple of this distance.
    std::uint64_t exponent = (bits >> 52) & 0x7ffu;
    constexpr std::uint64_t least = 1023 + 1 - Fp8::bias;
    if (exponent < least) exponent = least;
    const std::uint64_t shift_bits =
        ((exponent + 53 - Fp8::digits) << 52) | (std::uint64_t{1} << 51);
    double shift;
    std::memcpy(&shift, &shift_bits, sizeof shift);
    size = (size + shift) - shift;
    std::memcpy(&bits, &size, sizeof bits);
    if (size < 1.0 / (std::uint64_t{1} << (Fp8::bias - 1))) {
      code = static_cast<std::uint32_t>(
          size * static_cast<double>(std::uint64_t{1} << (Fp8::bias + Fp8::digits - 2)));
    } else {
      code = static_cast<std::uint32_t>((bits >> (53 - Fp8::digits)) -
                                        (std::uint64_t{1023 - Fp8::bias} << (Fp8::digits - 1)));
    }
  }
  Fp8 stored;
  stored.code = static_cast<std::uint8_t>(sign | code);
  return stored;
}

}  // namespace assay
