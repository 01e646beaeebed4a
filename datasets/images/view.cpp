#include "datasets/images/view.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double least_area = 0.08, least_ratio = 3.0 / 4.0, largest_ratio = 4.0 / 3.0;
constexpr std::uint32_t tries = 10;
constexpr std::uint32_t view_key = 0x76696577u;  // keeps these numbers apart from other uses

using Words = r123::Philox4x32::ctr_type;

/// Four random words of one try.
Words draw_words(std::uint64_t seed, std::uint64_t epoch, std::int64_t sample,
                 std::uint32_t attempt) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto s = static_cast<std::uint64_t>(sample);
  return r123::Philox4x32()({{low(s), low(s >> 32), low(epoch), attempt}},
                            {{low(seed), low(seed >> 32) ^ view_key}});
}

/// A number in (0, 1).
double unit(std::uint32_t word) { return (word + 0.5) * 0x1p-32; }
/// A number from 0 to count - 1.
double below(std::uint32_t word, double count) { return std::floor(unit(word) * count); }

Crop crop_centre(ImageSize image, double width, double height) {
  return {std::floor((image.width - width) / 2), std::floor((image.height - height) / 2), width,
          height};
}

Crop fallback(ImageSize image) {
  const double width = image.width, height = image.height;
  if (width / height < least_ratio)
    return crop_centre(image, width, std::max(1.0, std::round(width / least_ratio)));
  if (width / height > largest_ratio)
    return crop_centre(image, std::max(1.0, std::round(height * largest_ratio)), height);
  return {0, 0, width, height};
}

}  // namespace

namespace {

Crop random_crop(ImageSize image, std::uint64_t seed, std::uint64_t epoch, std::int64_t sample) {
  const double width = image.width, height = image.height;
  for (std::uint32_t attempt = 0; attempt < tries; ++attempt) {
    const Words words = draw_words(seed, epoch, sample, attempt);
    const double area = width * height * (least_area + (1 - least_area) * unit(words[0]));
    const double ratio =
        std::exp(std::log(least_ratio) + std::log(largest_ratio / least_ratio) * unit(words[1]));
    Crop crop;
    crop.width = std::round(std::sqrt(area * ratio));
    crop.height = std::round(std::sqrt(area / ratio));
    if (crop.width < 1 || crop.height < 1 || crop.width > width || crop.height > height) continue;
    crop.x = below(words[2], width - crop.width + 1);
    crop.y = below(words[3], height - crop.height + 1);
    return crop;
  }
  return fallback(image);
}

}  // namespace

View training_view(ImageSize image, std::uint64_t seed, std::uint64_t epoch, std::int64_t sample,
                   Augment augment) {
  View view = evaluation_view(image);
  if (augment == Augment::none) return view;
  if (augment == Augment::shift) {
    const Words words = draw_words(seed, epoch, sample, 0);
    view.crop.x = unit(words[2]) * (image.width - view.crop.width);
    view.crop.y = unit(words[3]) * (image.height - view.crop.height);
    return view;
  }
  view.crop = random_crop(image, seed, epoch, sample);
  view.flip =
      augment == Augment::crop_and_flip && draw_words(seed, epoch, sample, tries)[0] % 2 == 1;
  return view;
}

View evaluation_view(ImageSize image) {
  const double side = std::min(image.width, image.height) * (224.0 / 256.0);
  return {{(image.width - side) / 2, (image.height - side) / 2, side, side}, false};
}

int reduction_for(const Crop& crop, int size) {
  int reduction = 8;
  while (reduction > 1 && std::min(crop.width, crop.height) < static_cast<double>(size) * reduction)
    reduction /= 2;
  return reduction;
}

}  // namespace assay
