#include <Random123/philox.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "datasets/images/image_source.hpp"

namespace assay {
namespace {

using Words = r123::Philox4x32::ctr_type;
enum class Use : std::uint32_t { of_class = 1, of_picture, spots, noise };
constexpr int spot_pixels = 24;  // between two points of the grid of blurred spots

Words draw_words(std::uint64_t seed, Use use, std::int64_t number, std::uint32_t a = 0) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto n = static_cast<std::uint64_t>(number);
  return r123::Philox4x32()({{low(n), low(n >> 32), a, static_cast<std::uint32_t>(use)}},
                            {{low(seed), low(seed >> 32)}});
}

/// A number in [0, 1), a multiple of 2^-8 of the byte `which` of a word.
double part(std::uint32_t word, int which) { return (word >> (8 * which) & 0xFF) * 0x1p-8; }

/// Rises from 0 to 1 and falls again, with period 1.
double wave(double x) { return std::abs(2 * (x - std::floor(x)) - 1); }

/// Blurred spots: numbers in [-1, 1] on a grid, interpolated between its points.
class Spots {
 public:
  Spots(std::uint64_t seed, std::int64_t number, ImageSize size)
      : columns_(size.width / spot_pixels + 2) {
    const int rows = size.height / spot_pixels + 2;
    for (int i = 0; i < columns_ * rows; ++i) {
      const Words words = draw_words(seed, Use::spots, number, static_cast<std::uint32_t>(i));
      for (int c = 0; c < 3; ++c) values_.push_back(2 * part(words[0], c) - 1);
    }
  }
  double at(int x, int y, int c) const {
    const int column = x / spot_pixels, row = y / spot_pixels;
    const double u = x % spot_pixels / double{spot_pixels},
                 v = y % spot_pixels / double{spot_pixels};
    return (value(column, row, c) * (1 - u) + value(column + 1, row, c) * u) * (1 - v) +
           (value(column, row + 1, c) * (1 - u) + value(column + 1, row + 1, c) * u) * v;
  }

 private:
  double value(int column, int row, int c) const {
    const std::int64_t at = 3 * (std::int64_t{row} * columns_ + column) + c;
    return values_[static_cast<std::size_t>(at)];
  }
  int columns_;
  std::vector<double> values_;
};

class Generated final : public ImageSource {
 public:
  explicit Generated(const GeneratedImages& images) : images_(images) {
    constexpr int most = 1 << 14;
    const auto [width, height] = images.size;
    if (images.count < 1 || images.classes < 1 || images.first < 0 || width < 1 || height < 1 ||
        width > most || height > most)
      throw InputError(fmt::format(
          "{} images of {} x {} pixels in {} classes cannot be made (numbers are at least 1, sides "
          "at most {}). Choose others.",
          images.count, width, height, images.classes, most));
  }
  std::int64_t size() const override { return images_.count; }
  std::int64_t classes() const override { return images_.classes; }
  std::string canonical() const override {
    return fmt::format("images:n{}c{}w{}h{}seed{}first{}", images_.count, images_.classes,
                       images_.size.width, images_.size.height, images_.seed, images_.first);
  }

  Picture picture(std::int64_t index) const override {
    const std::int64_t number = images_.first + index;
    const Words own = draw_words(images_.seed, Use::of_picture, number);
    Picture picture{
        {},
        images_.size,
        static_cast<std::int64_t>(
            (std::uint64_t{own[0]} * static_cast<std::uint64_t>(images_.classes)) >> 32)};
    const Words of_class = draw_words(images_.seed, Use::of_class, picture.label);
    const double across = 1 + std::floor(10 * part(of_class[2], 0));  // stripes
    const double down = 1 + std::floor(10 * part(of_class[2], 1));
    const double phase = part(own[1], 0), brightness = 40 * (part(own[1], 1) - 0.5);
    const Spots spots(images_.seed, number, picture.size);
    const auto [width, height] = picture.size;
    picture.pixels.reserve(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const double stripe = wave(across * x / width + down * y / height + phase);
        const Words noise =
            draw_words(images_.seed, Use::noise, number, static_cast<std::uint32_t>(y * width + x));
        const double grain = 44 * (part(noise[0], 3) - 0.5);
        for (int c = 0; c < 3; ++c) {
          const double dark = 30 + 190 * part(of_class[0], c);
          const double light = 30 + 190 * part(of_class[1], c);
          const double value = dark + (light - dark) * stripe + brightness +
                               20 * spots.at(x, y, c) + grain + 12 * (part(noise[0], c) - 0.5);
          picture.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
        }
      }
    return picture;
  }

 private:
  GeneratedImages images_;
};

}  // namespace

std::unique_ptr<ImageSource> make_generated_images(const GeneratedImages& images) {
  return std::make_unique<Generated>(images);
}

}  // namespace assay
