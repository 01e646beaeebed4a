#include <gtest/gtest.h>

#include "tests/datasets/image_files/pictures.hpp"

namespace assay {
namespace {

constexpr ImageSize size{37, 21};

TEST(Png, PixelsComeBack) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes pixels = picture(size);
  EXPECT_EQ(decoded(encode_png(pixels, size)), pixels);
}

TEST(Png, ABoxHasThePixelsOfTheWholeImage) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes pixels = picture(size);
  const auto decoder = png_decoder();
  const Bytes part = decoded(*decoder, encode_png(pixels, size), 1, {5, 7, 3, 2});
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 9; ++x)
      EXPECT_EQ(part[static_cast<std::size_t>(9 * y + x)],
                pixels[static_cast<std::size_t>(3 * size.width * (7 + y) + 15 + x)]);
}

TEST(Png, DamagedDataAreRefused) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes encoded = encode_png(picture(size), size);
  for (std::size_t length = 0; length + 16 < encoded.size(); length += 13)
    EXPECT_THROW(decoded(std::span(encoded.data(), length)), BadSample) << length;
  Bytes wrong = encoded;
  wrong[wrong.size() / 2] ^= 0x10;
  EXPECT_THROW(decoded(wrong), BadSample);
}

TEST(AnyImage, TheContentDecidesNotTheName) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const auto decoder = image_decoder();
  EXPECT_EQ(decoder->open(encode_jpeg(picture(size), size, 90)), size);
  EXPECT_TRUE(decoder->reduces());
  EXPECT_EQ(decoder->open(encode_png(picture(size), size)), size);
  EXPECT_FALSE(decoder->reduces());
  for (const Bytes& other : {Bytes{}, Bytes{0xFF}, Bytes{'G', 'I', 'F', '8', '9', 'a'}})
    EXPECT_THROW(decoder->open(other), BadSample);
}

}  // namespace
}  // namespace assay
