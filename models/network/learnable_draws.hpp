#pragma once
// The random numbers of generated samples, and functions of them. All are whole numbers, so samples
// are equal on all processors.

#include <Random123/philox.h>

#include <algorithm>
#include <cstdint>

namespace assay {

/// Samples are whole numbers times this unit.
inline constexpr float learnable_unit = 0x1p-14F;

/// The purpose for which a number is drawn. Numbers of different draws are independent.
enum class DrawPurpose : std::uint32_t {
  waves = 1,
  choices,
  noise,
  markers = 16,
  counts,
  weather = 32,
  features,
  loadings = 48,
  factors,
};

/// The words of part `part` of sample (or class, or element) `number`.
inline r123::Philox4x32::ctr_type draw_words(std::uint64_t seed, DrawPurpose draw,
                                             std::int64_t number, std::int64_t part = 0) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto n = static_cast<std::uint64_t>(number);
  return r123::Philox4x32()(
      {{low(n), low(n >> 32), static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(draw)}},
      {{low(seed), low(seed >> 32) ^ 0x6c656172u}});
}

/// A whole number in [0, count), uniform up to count / 2^32.
inline std::int64_t choice(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>(std::uint64_t{word} * static_cast<std::uint64_t>(count) >> 32);
}

/// A sine approximated by two parabolas: maps a phase modulo 2^16 to [-2^13, 2^13].
inline std::int32_t wave(std::uint32_t phase) {
  const auto half = static_cast<std::int32_t>(phase & 0x7FFFu);
  const std::int32_t arc = (half * (0x8000 - half)) >> 15;
  return (phase & 0x8000u) != 0 ? -arc : arc;
}

/// Adds noise to the elements of a sample, eight per call of Philox. The noise is `step` times (the
/// sum of two random bytes - 255), which has a standard deviation of 104.5 steps.
inline void add_noise(std::uint64_t seed, std::int64_t index, int step, std::int64_t count,
                      std::int32_t* out) {
  for (std::int64_t first = 0; first < count; first += 8) {
    const auto words = draw_words(seed, DrawPurpose::noise, index, first / 8);
    std::int32_t noise[8];
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t pair = words[static_cast<std::size_t>(i / 2)] >> (16 * (i % 2));
      noise[i] = step * (static_cast<std::int32_t>((pair & 0xFFu) + (pair >> 8 & 0xFFu)) - 255);
    }
    const std::int64_t here = std::min<std::int64_t>(count - first, 8);
    for (std::int64_t i = 0; i < here; ++i) out[first + i] += noise[i];
  }
}

}  // namespace assay
