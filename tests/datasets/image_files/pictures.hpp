#pragma once
// Pictures that tests encode and decode.

#include <cmath>
#include <cstdint>
#include <span>

#include "datasets/image_files/image_files.hpp"

/// A build without image libraries has nothing to test but its message.
#define ASSAY_SKIP_WITHOUT_IMAGES() \
  if (!assay::why_no_images().empty()) GTEST_SKIP() << assay::why_no_images()

namespace assay {

/// Smooth colours with edges; R, G, B.
inline Bytes picture(ImageSize size, int variant = 0) {
  Bytes pixels;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const double wave = std::sin(0.11 * x + variant) * std::cos(0.07 * y);
      const bool square = (x / 24 + y / 24 + variant) % 3 == 0;
      pixels.push_back(static_cast<std::uint8_t>(128 + 100 * wave));
      pixels.push_back(static_cast<std::uint8_t>(square ? 220 : 60 + y % 64));
      pixels.push_back(static_cast<std::uint8_t>((x * 3 + y * 2 + 40 * variant) % 256));
    }
  return pixels;
}

/// The decoded pixels of a box as R, G, B.
inline Bytes decoded(ImageDecoder& decoder, std::span<const std::uint8_t> encoded, int reduction,
                     const PixelBox& box) {
  decoder.open(encoded);
  const PixelView view = decoder.decode(reduction, box);
  Bytes pixels;
  for (int y = 0; y < box.height; ++y)
    for (int x = 0; x < box.width; ++x)
      for (int c = 0; c < 3; ++c) pixels.push_back(view.first[y * view.stride + 4 * x + c]);
  return pixels;
}

inline Bytes decoded(std::span<const std::uint8_t> encoded) {
  const auto decoder = make_image_decoder();
  const ImageSize size = decoder->open(encoded);
  return decoded(*decoder, encoded, 1, {0, 0, size.width, size.height});
}

/// Root mean square difference.
inline double distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{1} * a[i] - b[i];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace assay
