#include "models/network/learnable_images.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "models/network/learnable_draws.hpp"

namespace assay {
namespace {

constexpr int colours = 3, waves = 3;
constexpr int least_periods = 2, more_periods = 3;  // 2, 3 or 4
// The scale of all integers: a pattern has a deviation of about 10400, of 2^14.
constexpr int noise_step = 100;
constexpr int constant_step = 8192;  // the range of a colour's constant to both sides

/// [size, size, 3] of one class: sums of three waves.
void make_pattern(std::uint64_t seed, std::int64_t number, int size, std::int16_t* out) {
  for (int c = 0; c < colours; ++c)
    for (int w = 0; w < waves; ++w) {
      const auto words = draw_words(seed, DrawPurpose::waves, number, waves * c + w);
      const std::int64_t across = least_periods + choice(words[0], more_periods);
      std::int64_t down = least_periods + choice(words[1], more_periods);
      if ((words[2] & 1u) != 0) down = size - down;  // the other diagonal
      for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
          const std::int64_t turn = (across * x + down * y) % size;
          std::int16_t& element = out[colours * (y * size + x) + c];
          const std::int32_t sum =
              (w == 0 ? 0 : element) +
              wave(static_cast<std::uint32_t>((turn << 16) / size) + (words[3] & 0xFFFFu));
          element = static_cast<std::int16_t>(sum);  // within 3 2^13
        }
    }
}

}  // namespace

LearnableImages::LearnableImages(const LearnableSettings& settings) : settings_(settings) {
  constexpr int least_size = 8, most_size = 1024;
  constexpr std::int64_t most_classes = 1 << 20;
  if (settings.classes < 2 || settings.classes > most_classes || settings.size < least_size ||
      settings.size > most_size)
    throw InputError(fmt::format(
        "{} classes of images with {} pixels a side cannot be made (2 to {} classes, {} to {} "
        "pixels). Choose others.",
        settings.classes, settings.size, most_classes, least_size, most_size));
  patterns_.resize(static_cast<std::size_t>(settings.classes * elements()));
  for (std::int64_t k = 0; k < settings.classes; ++k)
    make_pattern(settings.seed, k, settings.size, patterns_.data() + k * elements());
}

/// The shift of an image along an axis, in pixels, in [0, size).
std::int64_t LearnableImages::movement(std::uint32_t word) const {
  const std::int64_t most = settings_.size / 8;
  return (settings_.size + choice(word, 2 * most + 1) - most) % settings_.size;
}

void LearnableImages::make(std::int64_t index, float* out) const {
  const auto place = draw_words(settings_.seed, DrawPurpose::choices, index, 0);
  const auto colour = draw_words(settings_.seed, DrawPurpose::choices, index, 1);
  const auto gain = static_cast<std::int32_t>(128 + choice(place[0], 257));  // of 256
  const std::int64_t size = settings_.size, row = colours * size;
  const std::int64_t right = colours * movement(place[1]), down = movement(place[2]);
  std::int32_t constant[colours];
  for (std::size_t c = 0; c < colours; ++c)
    constant[c] =
        static_cast<std::int32_t>(choice(colour[c], 2 * constant_step + 1)) - constant_step;
  const std::int16_t* const pattern = patterns_.data() + label(index) * elements();
  thread_local std::vector<std::int32_t> sums;
  sums.resize(static_cast<std::size_t>(elements()));
  for (std::int64_t y = 0; y < size; ++y) {
    const std::int16_t* const from = pattern + (y + down) % size * row;
    std::int32_t* const to = sums.data() + y * row;
    // Copies the row from `right` on, then its beginning; both consist of whole pixels.
    for (std::int64_t i = 0; i < row - right; ++i) to[i] = gain * from[right + i] >> 8;
    for (std::int64_t i = 0; i < right; ++i) to[row - right + i] = gain * from[i] >> 8;
    for (std::int64_t x = 0; x < size; ++x)
      for (int c = 0; c < colours; ++c) to[colours * x + c] += constant[c];
  }
  add_noise(settings_.seed, index, noise_step, elements(), sums.data());
  for (std::int64_t i = 0; i < elements(); ++i)
    out[i] = learnable_unit * static_cast<float>(sums[static_cast<std::size_t>(i)]);
}

std::string LearnableImages::canonical() const {
  return fmt::format("learnable:c{}s{}seed{}", settings_.classes, settings_.size, settings_.seed);
}

}  // namespace assay
