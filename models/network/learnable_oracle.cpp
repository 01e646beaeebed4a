#include "models/network/learnable_oracle.hpp"

#include <Random123/philox.h>

#include <array>

namespace assay {
namespace {

using Drawn = std::array<std::uint64_t, 4>;
constexpr std::uint32_t of_waves = 1, of_choices = 2, of_noise = 3, of_markers = 16, of_counts = 17,
                        of_weather = 32, of_features = 33, of_loadings = 48, of_factors = 49;

Drawn draw_bits(std::uint64_t seed, std::int64_t number, std::int64_t part, std::uint32_t purpose) {
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

/// A wave of two parabolas, with the period 65536 and the peak 8192.
std::int64_t swing(std::int64_t phase) {
  const std::int64_t turned = modulo(phase, 65536), half = turned % 32768,
                     arc = half * (32768 - half) / 32768;
  return turned < 32768 ? arc : -arc;
}

/// The sum of two random bytes, centred on 0.
std::int64_t draw_noise(std::uint64_t seed, std::int64_t number, std::int64_t element) {
  const std::uint64_t word =
      draw_bits(seed, number, element / 8, of_noise)[static_cast<std::size_t>(element % 8 / 2)];
  const std::uint64_t pair = element % 2 == 0 ? word % 65536 : word / 65536;
  return static_cast<std::int64_t>(pair % 256 + pair / 256) - 255;
}

}  // namespace

std::int64_t LearnableOracle::number(std::int64_t index, bool training) {
  return training ? index : index + 1099511627776;  // 2^40
}

std::int64_t LearnableOracle::pattern(std::int64_t label, std::int64_t row, std::int64_t column,
                                      std::int64_t colour) const {
  std::int64_t sum = 0;
  for (std::int64_t wave = 0; wave < 3; ++wave) {
    const Drawn words = draw_bits(seed_, label, 3 * colour + wave, of_waves);
    const std::int64_t across = within(words[0], 2, 4), periods = within(words[1], 2, 4),
                       down = words[2] % 2 == 1 ? side_ - periods : periods,
                       turn = (across * column + down * row) % side_;
    sum += swing(turn * 65536 / side_ + static_cast<std::int64_t>(words[3] % 65536));
  }
  return sum;
}

double LearnableOracle::at(std::int64_t number, std::int64_t row, std::int64_t column,
                           std::int64_t colour) const {
  const Drawn first = draw_bits(seed_, number, 0, of_choices),
              second = draw_bits(seed_, number, 1, of_choices);
  const std::int64_t farthest = side_ / 8, gain = within(first[0], 128, 384),
                     right = within(first[1], -farthest, farthest),
                     down = within(first[2], -farthest, farthest),
                     constant = within(second[static_cast<std::size_t>(colour)], -8192, 8192);
  const std::int64_t product = gain * pattern(label(number), modulo(row + down, side_),
                                              modulo(column + right, side_), colour),
                     multiplied = (product - modulo(product, 256)) / 256;  // rounded down
  const std::int64_t element = (row * side_ + column) * 3 + colour;
  return static_cast<double>(multiplied + constant + 100 * draw_noise(seed_, number, element)) /
         16384;
}

double learnable_count(std::int64_t classes, std::uint64_t seed, std::int64_t number,
                       std::int64_t element) {
  const std::uint64_t mark =
      draw_bits(seed, element / 4, 0, of_markers)[static_cast<std::size_t>(element % 4)];
  // The other 30 bits choose the class, as a fraction of the number of classes.
  const bool marks = (mark & 3) == 0 &&
                     static_cast<std::int64_t>((mark >> 2) * static_cast<std::uint64_t>(classes) /
                                               1073741824U) == number % classes;
  const std::uint64_t word = draw_bits(seed, number, element / 16,
                                       of_counts)[static_cast<std::size_t>(element % 16 / 4)],
                      chance = word / (std::uint64_t{1} << (8 * (element % 4))) % 256;
  if (chance < (marks ? 16U : 1U)) return 2;
  return chance < (marks ? 64U : 6U) ? 1 : 0;
}

double learnable_expression(std::uint64_t seed, std::int64_t number, std::int64_t element) {
  const Drawn words = draw_bits(seed, element, 0, of_loadings);
  const auto factor = [&](std::int64_t k) {
    return within(draw_bits(seed, number, k / 4, of_factors)[static_cast<std::size_t>(k % 4)], -256,
                  255);
  };
  const auto loading = [](std::uint64_t byte) {
    return static_cast<std::int64_t>((byte - byte % 2) / 2) - 64;
  };
  const std::int64_t first = within(words[0], 0, 5), second = (first + within(words[1], 1, 5)) % 6,
                     phase = static_cast<std::int64_t>(words[2] % 65536) +
                             loading(words[3] % 256) * factor(first) +
                             loading(words[3] / 256 % 256) * factor(second),
                     height = 3 * swing(phase), quarter = (height - modulo(height, 4)) / 4;
  return 0.5 + static_cast<double>(quarter + 4 * draw_noise(seed, number, element)) / 16384;
}

FieldOracle::FieldOracle(const InputShape& shape, std::uint64_t seed, std::int64_t number)
    : shape_(shape), seed_(seed), number_(number), side_(std::min(shape.height, shape.width)) {
  const Drawn numbers = draw_bits(seed, number, 0, of_features);
  const std::int64_t least = std::max<std::int64_t>(side_ / 16, 2),
                     more = std::max<std::int64_t>(side_ / 24, 2), quarter = shape.width / 4;
  for (std::int64_t k = 0; k < within(numbers[0], 1, 2); ++k) {
    const Drawn words = draw_bits(seed, number, 2 + k, of_features);
    vortices_.push_back({within(words[0], 0, shape.height - 1),
                         within(words[1], 0, shape.width - 1),
                         within(words[2], least, least + more - 1)});
  }
  for (std::int64_t k = 0; k < within(numbers[1], 1, 2); ++k) {
    const Drawn words = draw_bits(seed, number, 4 + k, of_features);
    rivers_.push_back({within(words[0], 0, shape.height - 1), within(words[1], 0, shape.width - 1),
                       within(words[2], quarter, 2 * quarter),
                       within(words[3] / 65536 * 65536, 0, side_ / 8),
                       static_cast<std::int64_t>(words[3] % 65536)});
  }
}

std::int64_t FieldOracle::measure_right(const Vortex& vortex, std::int64_t column) const {
  const std::int64_t right = modulo(column - vortex.column, shape_.width);
  return 2 * right > shape_.width ? right - shape_.width : right;
}

/// 256 at the centre, 128 at the radius, and 0 from sqrt(2) times the radius on.
std::int64_t FieldOracle::strength(const Vortex& vortex, std::int64_t row,
                                   std::int64_t column) const {
  const std::int64_t down = row - vortex.row, right = measure_right(vortex, column),
                     square = vortex.radius * vortex.radius, distance = down * down + right * right;
  return distance >= 2 * square ? 0 : 128 * (2 * square - distance) / square;
}

std::optional<std::int64_t> FieldOracle::distance(const River& river, std::int64_t row,
                                                  std::int64_t column) const {
  const std::int64_t along = modulo(column - river.first, shape_.width);
  if (along >= river.length) return std::nullopt;
  const std::int64_t bent = river.bend * swing(river.phase + along * 32768 / river.length),
                     centre = river.row + (bent - modulo(bent, 8192)) / 8192;
  return row > centre ? row - centre : centre - row;
}

std::int64_t FieldOracle::label(std::int64_t row, std::int64_t column) const {
  for (const Vortex& vortex : vortices_) {
    const std::int64_t down = row - vortex.row, right = measure_right(vortex, column);
    if (down * down + right * right <= vortex.radius * vortex.radius) return 1;
  }
  for (const River& river : rivers_)
    if (const auto rows = distance(river, row, column); rows && *rows <= half_width()) return 2;
  return 0;
}

double FieldOracle::at(std::int64_t row, std::int64_t column, std::int64_t channel) const {
  std::int64_t sum =
      25 * draw_noise(seed_, number_, (row * shape_.width + column) * shape_.channels + channel);
  for (std::int64_t k = 0; k < 2; ++k) {
    const Drawn words = draw_bits(seed_, number_, 2 * channel + k, of_weather);
    const std::int64_t across = within(words[0], 1, 3) * column * 65536 / shape_.width,
                       down = within(words[1], 1, 3) * row * 65536 / shape_.height;
    sum += swing(static_cast<std::int64_t>(words[3] % 65536) + across +
                 (words[2] % 2 == 1 ? -down : down));
  }
  for (const Vortex& vortex : vortices_) {
    const std::int64_t strong = strength(vortex, row, column),
                       sign = 2 * row < shape_.height ? 1 : -1;
    if (channel == 0) sum -= 192 * strong * (row - vortex.row) * sign / vortex.radius;
    if (channel == 1) sum += 192 * strong * measure_right(vortex, column) * sign / vortex.radius;
    if (channel == 2) sum -= 192 * strong;
    if (channel == 3) sum += 96 * strong;
  }
  const std::int64_t reach = 2 * half_width() + 2;
  for (const River& river : rivers_)
    if (const auto rows = distance(river, row, column); rows && *rows < reach) {
      const std::int64_t strong = 256 * (reach - *rows) / reach;
      sum += channel == 0 ? 64 * strong : channel == 3 ? 192 * strong : 0;
    }
  return static_cast<double>(sum) / 16384;
}

}  // namespace assay
