#include "models/network/learnable_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/error.hpp"
#include "models/network/learnable_draws.hpp"

namespace assay {
namespace {

// The scale of all integers: the waves of a channel have a deviation of about 8500, of 2^14.
constexpr int field_noise_step = 25, waves_of_channel = 2, most_periods = 3;
constexpr std::int64_t at_centre = 256, at_edge = 128;
/// The weights by channel, for the strength 1.
constexpr std::int64_t of_wind = 192, of_pressure = 192, of_humidity = 96, of_river = 192,
                       of_river_wind = 64;
constexpr std::int64_t vortex = 1, river = 2;  // classes, and parts of the draws
constexpr std::int64_t most_planted = 2;       // of each

}  // namespace

LearnableFields::LearnableFields(const InputShape& shape, std::int64_t classes, std::uint64_t seed)
    : shape_(shape), side_(std::min(shape.height, shape.width)), seed_(seed) {
  constexpr std::int64_t least_channels = 4, most_channels = 64, least_side = 16, most_side = 4096;
  if (classes != field_classes || shape.channels < least_channels ||
      shape.channels > most_channels || side_ < least_side ||
      std::max(shape.height, shape.width) > most_side)
    throw InputError(fmt::format(
        "{} classes of pixels in {} channels of {} x {} pixels cannot be made ({} classes, {} to "
        "{} channels, {} to {} pixels a side). Choose others, or --data synthetic.",
        classes, shape.channels, shape.height, shape.width, field_classes, least_channels,
        most_channels, least_side, most_side));
}

template <class Body>
void LearnableFields::for_each_of_vortices(std::int64_t index, const Body& body) const {
  const auto numbers = draw_words(seed_, DrawPurpose::features, index);
  for (std::int64_t k = 0; k <= choice(numbers[0], most_planted); ++k) {
    const auto words = draw_words(seed_, DrawPurpose::features, index, most_planted * vortex + k);
    const std::int64_t row = choice(words[0], shape_.height),
                       column = choice(words[1], shape_.width),
                       radius = std::max<std::int64_t>(2, side_ / 16) +
                                choice(words[2], std::max<std::int64_t>(2, side_ / 24)),
                       whole = 2 * radius * radius, reach = 2 * radius;
    for (std::int64_t down = -reach; down <= reach; ++down)
      for (std::int64_t right = -reach; right <= reach; ++right) {
        const std::int64_t y = row + down, left = whole - down * down - right * right;
        if (y < 0 || y >= shape_.height || left <= 0) continue;
        body({y, (column + right + shape_.width) % shape_.width, at_centre * left / whole, down,
              right, radius});
      }
  }
}

template <class Body>
void LearnableFields::for_each_of_rivers(std::int64_t index, const Body& body) const {
  const auto numbers = draw_words(seed_, DrawPurpose::features, index);
  const std::int64_t half = std::max<std::int64_t>(1, side_ / 48), reach = 2 * half + 2;
  for (std::int64_t k = 0; k <= choice(numbers[1], most_planted); ++k) {
    const auto words = draw_words(seed_, DrawPurpose::features, index, most_planted * river + k);
    const std::int64_t row = choice(words[0], shape_.height),
                       first = choice(words[1], shape_.width),
                       length = shape_.width / 4 + choice(words[2], shape_.width / 4 + 1),
                       bend = choice(words[3] & 0xFFFF0000u, side_ / 8 + 1);
    for (std::int64_t along = 0; along < length; ++along) {
      const auto turn = static_cast<std::uint32_t>((along << 15) / length);
      const std::int64_t centre = row + ((bend * wave((words[3] & 0xFFFFu) + turn)) >> 13);
      for (std::int64_t y = std::max<std::int64_t>(0, centre - reach);
           y <= std::min(shape_.height - 1, centre + reach); ++y)
        body({y, (first + along) % shape_.width,
              at_centre * (reach - std::abs(y - centre)) / reach});
    }
  }
}

void LearnableFields::add_weather(std::int64_t index, std::int32_t* sums) const {
  const auto [channels, height, width] = shape_;
  const std::int64_t count = waves_of_channel * channels;
  // Phases of wave i: that of column x, [i, x], plus that of row y, [i, y].
  std::vector<std::uint32_t> across(static_cast<std::size_t>(count * width)),
      down(static_cast<std::size_t>(count * height));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto words = draw_words(seed_, DrawPurpose::weather, index, i);
    const std::int64_t columns = 1 + choice(words[0], most_periods),
                       rows = 1 + choice(words[1], most_periods);
    for (std::int64_t x = 0; x < width; ++x)
      across[static_cast<std::size_t>(i * width + x)] =
          static_cast<std::uint32_t>((columns * x << 16) / width) + words[3];
    for (std::int64_t y = 0; y < height; ++y) {
      const auto turn = static_cast<std::uint32_t>((rows * y << 16) / height);
      down[static_cast<std::size_t>(i * height + y)] = (words[2] & 1u) != 0 ? 0 - turn : turn;
    }
  }
  // Row by row, so that a row stays in the cache.
  std::vector<std::int32_t> row(static_cast<std::size_t>(width));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t c = 0; c < channels; ++c) {
      std::ranges::fill(row, 0);
      for (std::int64_t i = waves_of_channel * c; i < waves_of_channel * (c + 1); ++i) {
        const std::uint32_t* const at = across.data() + i * width;
        const std::uint32_t further = down[static_cast<std::size_t>(i * height + y)];
        for (std::size_t x = 0; x < row.size(); ++x) row[x] += wave(at[x] + further);
      }
      std::int32_t* to = sums + y * width * channels + c;
      for (const std::int32_t sum : row) {
        *to += sum;
        to += channels;
      }
    }
}

void LearnableFields::make(std::int64_t index, float* out) const {
  thread_local std::vector<std::int32_t> sums;
  sums.assign(static_cast<std::size_t>(elements()), 0);
  add_weather(index, sums.data());
  const auto pixel = [&](const PlantedObject& at) {
    return sums.data() + place(at) * shape_.channels;
  };
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  for_each_of_vortices(index, [&](const PlantedObject& at) {
    std::int32_t* const x = pixel(at);
    const std::int64_t spin = of_wind * at.strength * (2 * at.row < shape_.height ? 1 : -1);
    x[0] -= narrow(spin * at.down / at.radius);
    x[1] += narrow(spin * at.right / at.radius);
    x[2] -= narrow(of_pressure * at.strength);
    x[3] += narrow(of_humidity * at.strength);
  });
  for_each_of_rivers(index, [&](const PlantedObject& at) {
    std::int32_t* const x = pixel(at);
    x[0] += narrow(of_river_wind * at.strength);
    x[3] += narrow(of_river * at.strength);
  });
  add_noise(seed_, index, field_noise_step, elements(), sums.data());
  for (std::int64_t i = 0; i < elements(); ++i)
    out[i] = learnable_unit * static_cast<float>(sums[static_cast<std::size_t>(i)]);
}

void LearnableFields::make_labels(std::int64_t index, std::int64_t* out) const {
  std::fill_n(out, labels(), 0);
  for_each_of_rivers(index, [&](const PlantedObject& at) {
    if (at.strength > at_edge) out[place(at)] = river;
  });
  for_each_of_vortices(index, [&](const PlantedObject& at) {
    if (at.strength >= at_edge) out[place(at)] = vortex;
  });
}

std::string LearnableFields::canonical() const {
  return fmt::format("learnable:c{}i{}h{}w{}seed{}", field_classes, shape_.channels, shape_.height,
                     shape_.width, seed_);
}

}  // namespace assay
