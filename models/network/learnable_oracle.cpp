#include "models/network/learnable_oracle.hpp"

#include <Random123/philox.h>

#include <array>

namespace assay {
namespace {

using Drawn = std::array<std::uint64_t, 4>;
constexpr std::uint32_t of_waves = 1, of_choices = 2, of_noise = 3, of_markers = 16, of_counts = 17;

Drawn drawn(std::uint64_t seed, std::int64_t number, std::int64_t part, std::uint32_t purpose) {
  const auto from = static_cast<std::uint64_t>(number);
  const r123::Philox4x32::ctr_type counter{{static_cast<std::uint32_t>(from),
                                            static_cast<std::uint32_t>(from >> 32),
                                            static_cast<std::uint32_t>(part), purpose}};
  const r123::Philox4x32::key_type key{
      {static_cast<std::uint32_t>(seed),
       static_cast<std::uint32_t>(seed >> 32) ^ 0x6C656172U}};  // "lear"
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

/// A whole number from `least` to `most`.
std::int64_t within(std::uint64_t word, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>((word * static_cast<std::uint64_t>(most - least + 1)) /
                                           4294967296U);
}

std::int64_t modulo(std::int64_t value, std::int64_t by) { return (value % by + by) % by; }

/// A period of 65536 from two parabolas, whose peak is 8192.
std::int64_t swing(std::int64_t phase) {
  const std::int64_t turned = modulo(phase, 65536), half = turned % 32768,
                     arc = half * (32768 - half) / 32768;
  return turned < 32768 ? arc : -arc;
}

}  // namespace

std::int64_t LearnableOracle::number(std::int64_t index, bool training) {
  return training ? index : index + 1099511627776;  // 2^40
}

std::int64_t LearnableOracle::pattern(std::int64_t label, std::int64_t row, std::int64_t column,
                                      std::int64_t colour) const {
  std::int64_t sum = 0;
  for (std::int64_t wave = 0; wave < 3; ++wave) {
    const Drawn words = drawn(seed_, label, 3 * colour + wave, of_waves);
    const std::int64_t across = within(words[0], 2, 4), periods = within(words[1], 2, 4),
                       down = words[2] % 2 == 1 ? side_ - periods : periods,
                       turn = (across * column + down * row) % side_;
    sum += swing(turn * 65536 / side_ + static_cast<std::int64_t>(words[3] % 65536));
  }
  return sum;
}

/// The sum of two bytes, around 0.
std::int64_t LearnableOracle::noise(std::int64_t number, std::int64_t element) const {
  const std::uint64_t word =
      drawn(seed_, number, element / 8, of_noise)[static_cast<std::size_t>(element % 8 / 2)];
  const std::uint64_t pair = element % 2 == 0 ? word % 65536 : word / 65536;
  return 100 * (static_cast<std::int64_t>(pair % 256 + pair / 256) - 255);
}

double LearnableOracle::at(std::int64_t number, std::int64_t row, std::int64_t column,
                           std::int64_t colour) const {
  const Drawn first = drawn(seed_, number, 0, of_choices),
              second = drawn(seed_, number, 1, of_choices);
  const std::int64_t farthest = side_ / 8, gain = within(first[0], 128, 384),
                     right = within(first[1], -farthest, farthest),
                     down = within(first[2], -farthest, farthest),
                     constant = within(second[static_cast<std::size_t>(colour)], -8192, 8192);
  const std::int64_t product = gain * pattern(label(number), modulo(row + down, side_),
                                              modulo(column + right, side_), colour),
                     multiplied = (product - modulo(product, 256)) / 256;  // rounded down
  const std::int64_t element = (row * side_ + column) * 3 + colour;
  return static_cast<double>(multiplied + constant + noise(number, element)) / 16384;
}

double learnable_count(std::int64_t classes, std::uint64_t seed, std::int64_t number,
                       std::int64_t element) {
  const std::uint64_t mark =
      drawn(seed, element / 4, 0, of_markers)[static_cast<std::size_t>(element % 4)];
  // The other 30 bits are a fraction of the classes.
  const bool marks = (mark & 3) == 0 &&
                     static_cast<std::int64_t>((mark >> 2) * static_cast<std::uint64_t>(classes) /
                                               1073741824U) == number % classes;
  const std::uint64_t word = drawn(seed, number, element / 16,
                                   of_counts)[static_cast<std::size_t>(element % 16 / 4)],
                      chance = word / (std::uint64_t{1} << (8 * (element % 4))) % 256;
  if (chance < (marks ? 16U : 1U)) return 2;
  return chance < (marks ? 64U : 6U) ? 1 : 0;
}

}  // namespace assay
