#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/datasets/image_files/pictures.hpp"

namespace assay {
namespace test_jpeg {

constexpr ImageSize size{147, 93};

/// Smooth, since JPEG halves the resolution of colours.
Bytes smooth(ImageSize of) {
  Bytes pixels;
  for (int y = 0; y < of.height; ++y)
    for (int x = 0; x < of.width; ++x)
      for (const int value : {x, 2 * y, 255 - x - y / 2})
        pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0, 255)));
  return pixels;
}

TEST(Jpeg, EveryKindOfColoursComesBack) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes pixels = smooth(size);
  for (const JpegColours colours : {JpegColours::ycbcr, JpegColours::cmyk, JpegColours::ycck})
    for (const bool progressive : {false, true}) {
      const Bytes encoded = encode_jpeg(pixels, size, 95, colours, progressive);
      EXPECT_LT(distance(decoded(encoded), pixels), 2.0) << static_cast<int>(colours);
    }
  const Bytes grey = decoded(encode_jpeg(pixels, size, 95, JpegColours::grey));
  double worst = 0;
  for (std::size_t i = 0; i < grey.size(); i += 3) {
    EXPECT_EQ(grey[i], grey[i + 1]);
    EXPECT_EQ(grey[i], grey[i + 2]);
    const double luminance =
        0.299 * pixels[i] + 0.587 * pixels[i + 1] + 0.114 * pixels[i + 2];  // ITU-R BT.601
    worst = std::max(worst, std::abs(luminance - grey[i]));
  }
  EXPECT_LT(worst, 6);
}

/// The parts that a decoder leaves out must not change those that it decodes.
TEST(Jpeg, ABoxHasThePixelsOfTheWholeImage) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  std::mt19937 random(1);
  const auto decoder = make_jpeg_decoder();
  for (const JpegColours colours : {JpegColours::ycbcr, JpegColours::grey, JpegColours::ycck})
    for (const int quality : {80, 97})
      for (const bool progressive : {false, true})
        for (const int reduction : {1, 2, 4, 8}) {
          const Bytes encoded = encode_jpeg(picture(size), size, quality, colours, progressive);
          const int width = (size.width + reduction - 1) / reduction;
          const int height = (size.height + reduction - 1) / reduction;
          const Bytes whole = decoded(*decoder, encoded, reduction, {0, 0, width, height});
          for (int i = 0; i < 60; ++i) {
            PixelBox box;
            box.x = static_cast<int>(random() % static_cast<unsigned>(width));
            box.y = static_cast<int>(random() % static_cast<unsigned>(height));
            box.width = 1 + static_cast<int>(random() % static_cast<unsigned>(width - box.x));
            box.height = 1 + static_cast<int>(random() % static_cast<unsigned>(height - box.y));
            const Bytes part = decoded(*decoder, encoded, reduction, box);
            Bytes expected;
            for (int y = box.y; y < box.y + box.height; ++y)
              for (int x = 3 * box.x; x < 3 * (box.x + box.width); ++x)
                expected.push_back(whole[static_cast<std::size_t>(y * 3 * width + x)]);
            ASSERT_EQ(part, expected)
                << "colours " << static_cast<int>(colours) << " quality " << quality
                << " progressive " << progressive << " reduction " << reduction << " box " << box.x
                << ' ' << box.y << ' ' << box.width << ' ' << box.height;
          }
        }
}

TEST(Jpeg, AReducedImageIsTheMeanOfItsPixels) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  constexpr ImageSize even{128, 64};
  const Bytes pixels = smooth(even), encoded = encode_jpeg(pixels, even, 98);
  const auto decoder = make_jpeg_decoder();
  for (const int reduction : {2, 4, 8}) {
    const int width = even.width / reduction, height = even.height / reduction;
    const Bytes small = decoded(*decoder, encoded, reduction, {0, 0, width, height});
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        double sum = 0;
        for (int v = 0; v < reduction; ++v)
          for (int u = 0; u < reduction; ++u)
            sum += pixels[static_cast<std::size_t>(
                3 * ((y * reduction + v) * even.width + x * reduction + u))];
        EXPECT_NEAR(small[static_cast<std::size_t>(3 * (y * width + x))],
                    sum / (reduction * reduction), 4)
            << reduction << ": " << x << ' ' << y;
      }
  }
}

/// The loop that decoders are compared with must do their work: the same pixels, of any box.
TEST(Jpeg, TheBareLoopHasThePixelsOfTheDecoder) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const auto loop = make_bare_jpeg_loop();
  const auto decoder = make_jpeg_decoder();
  const auto pixels_of = [](const RgbView& view) {
    Bytes pixels;
    for (int y = 0; y < view.box.height; ++y)
      pixels.insert(pixels.end(), view.first + y * view.stride,
                    view.first + y * view.stride + std::int64_t{3} * view.box.width);
    return pixels;
  };
  for (const JpegColours colours : {JpegColours::ycbcr, JpegColours::grey}) {
    const Bytes encoded = encode_jpeg(picture(size), size, 90, colours);
    EXPECT_EQ(pixels_of(loop->decode(encoded)), decoded(encoded));
    for (const int reduction : {1, 2, 4})
      for (const PixelBox& box : {PixelBox{0, 0, 9, 7}, PixelBox{5, 11, 20, 9},
                                  PixelBox{(size.width + reduction - 1) / reduction - 8, 2, 8, 20}})
        EXPECT_EQ(pixels_of(loop->decode(encoded, reduction, box)),
                  decoded(*decoder, encoded, reduction, box))
            << reduction << ": " << box.x;
  }
  const Bytes four = encode_jpeg(picture(size), size, 90, JpegColours::cmyk);
  EXPECT_THROW(loop->decode(four), BadSample);
  EXPECT_THROW(loop->decode(std::span(four).first(99)), BadSample);
  EXPECT_NO_THROW(loop->decode(encode_jpeg(picture(size), size, 90)));
}

TEST(Jpeg, TruncatedDataAreRefusedEvenBehindTheBox) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const auto decoder = make_jpeg_decoder();
  for (const bool progressive : {false, true}) {
    const Bytes encoded = encode_jpeg(picture(size), size, 90, JpegColours::ycbcr, progressive);
    for (std::size_t length = 0; length + 1 < encoded.size();
         length += std::max<std::size_t>(1, encoded.size() / 97)) {
      const std::span<const std::uint8_t> cut(encoded.data(), length);
      EXPECT_THROW(decoded(*decoder, cut, 1, {0, 0, 8, 8}), BadSample) << length;
    }
    // The decoder goes on with the next image.
    EXPECT_NO_THROW(decoded(*decoder, encoded, 1, {0, 0, 8, 8}));
  }
}

TEST(Jpeg, DamagedDataAreRefused) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const auto decoder = make_jpeg_decoder();
  Bytes encoded = encode_jpeg(picture(size), size, 90);
  // An end that comes too early: the marker is there, the data before it are not.
  Bytes cut(encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(encoded.size() / 2));
  cut.insert(cut.end(), {0xFF, 0xD9});
  EXPECT_THROW(decoded(*decoder, cut, 1, {0, 0, size.width, size.height}), BadSample);
  encoded[3] ^= 0x55;
  EXPECT_THROW(decoder->open(encoded), BadSample);
}

TEST(Jpeg, BytesBehindTheEndAreIgnored) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  Bytes encoded = encode_jpeg(picture(size), size, 90);
  const Bytes pixels = decoded(encoded);
  encoded.insert(encoded.end(), 100, 0);
  EXPECT_EQ(decoded(encoded), pixels);
}

}  // namespace test_jpeg
}  // namespace assay
