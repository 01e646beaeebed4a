#include "models/network/learnable_images.hpp"

#include <Random123/philox.h>
#include <fmt/format.h>

#include "core/base/error.hpp"

namespace assay {
namespace {

using Words = r123::Philox4x32::ctr_type;
enum class Use : std::uint32_t { waves = 1, choices, noise };

constexpr int colours = 3, waves = 3;
constexpr int least_periods = 2, more_periods = 3;  // 2, 3 or 4
// The scale of all integers: a pattern has a deviation of about 10400, of 2^14.
constexpr int noise_step = 100;      // times the sum of two bytes, of deviation 104.5
constexpr int constant_step = 8192;  // the range of a colour's constant to both sides
constexpr float unit = 0x1p-14F;

Words words_of(std::uint64_t seed, Use use, std::int64_t number, std::uint32_t part = 0) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto n = static_cast<std::uint64_t>(number);
  return r123::Philox4x32()({{low(n), low(n >> 32), part, static_cast<std::uint32_t>(use)}},
                            {{low(seed), low(seed >> 32) ^ 0x6c656172u}});
}

/// A whole number in [0, count), uniform up to count / 2^32.
std::int64_t choice(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>(std::uint64_t{word} * static_cast<std::uint64_t>(count) >> 32);
}

/// Two parabolas in place of a sine: from a phase modulo 2^16 to [-2^13, 2^13].
std::int32_t wave(std::uint32_t phase) {
  const auto half = static_cast<std::int32_t>(phase & 0x7FFFu);
  const std::int32_t arc = (half * (0x8000 - half)) >> 15;
  return (phase & 0x8000u) != 0 ? -arc : arc;
}

/// [size, size, 3] of one class: sums of three waves.
void make_pattern(std::uint64_t seed, std::int64_t number, int size, std::int16_t* out) {
  for (int c = 0; c < colours; ++c)
    for (int w = 0; w < waves; ++w) {
      const Words words =
          words_of(seed, Use::waves, number, static_cast<std::uint32_t>(waves * c + w));
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

/// out[count]: the noise of an image, eight elements for each call of Philox.
void add_noise(std::uint64_t seed, std::int64_t index, std::int64_t count, std::int32_t* out) {
  for (std::int64_t first = 0; first < count; first += 8) {
    const Words words = words_of(seed, Use::noise, index, static_cast<std::uint32_t>(first / 8));
    std::int32_t noise[8];
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t pair = words[static_cast<std::size_t>(i / 2)] >> (16 * (i % 2));
      noise[i] =
          noise_step * (static_cast<std::int32_t>((pair & 0xFFu) + (pair >> 8 & 0xFFu)) - 255);
    }
    const std::int64_t here = count - first < 8 ? count - first : 8;
    for (std::int64_t i = 0; i < here; ++i) out[first + i] += noise[i];
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

/// By how much an image is moved along an axis, in [0, size).
std::int64_t LearnableImages::movement(std::uint32_t word) const {
  const std::int64_t most = settings_.size / 8;
  return (settings_.size + choice(word, 2 * most + 1) - most) % settings_.size;
}

void LearnableImages::make(std::int64_t index, float* out) const {
  const Words place = words_of(settings_.seed, Use::choices, index, 0);
  const Words colour = words_of(settings_.seed, Use::choices, index, 1);
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
    // The row from `right` on, then its beginning; both are whole pixels.
    for (std::int64_t i = 0; i < row - right; ++i) to[i] = gain * from[right + i] >> 8;
    for (std::int64_t i = 0; i < right; ++i) to[row - right + i] = gain * from[i] >> 8;
    for (std::int64_t x = 0; x < size; ++x)
      for (int c = 0; c < colours; ++c) to[colours * x + c] += constant[c];
  }
  add_noise(settings_.seed, index, elements(), sums.data());
  for (std::int64_t i = 0; i < elements(); ++i)
    out[i] = unit * static_cast<float>(sums[static_cast<std::size_t>(i)]);
}

std::string LearnableImages::canonical() const {
  return fmt::format("learnable:c{}s{}seed{}", settings_.classes, settings_.size, settings_.seed);
}

}  // namespace assay
