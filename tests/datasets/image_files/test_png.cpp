#include <gtest/gtest.h>

#include <boost/crc.hpp>
#include <string>

#include "tests/datasets/image_files/pictures.hpp"

namespace assay {
namespace test_png {

constexpr ImageSize size{37, 21};

TEST(Png, PixelsComeBack) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes pixels = picture(size);
  EXPECT_EQ(decoded(encode_png(pixels, size)), pixels);
}

TEST(Png, ABoxHasThePixelsOfTheWholeImage) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes pixels = picture(size);
  const auto decoder = make_png_decoder();
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

std::string big_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

std::string chunk(const std::string& kind_and_data) {
  boost::crc_32_type crc;
  crc.process_bytes(kind_and_data.data(), kind_and_data.size());
  return big_endian(static_cast<std::uint32_t>(kind_and_data.size() - 4), 4) + kind_and_data +
         big_endian(crc.checksum(), 4);
}

/// A PNG file whose rows are stored and not compressed. Each sample v is 257 v in 16 bits.
Bytes stored_png(ImageSize shape, int bits, bool grey, const Bytes& samples,
                 const std::string& chunks = "") {
  std::string rows;
  const std::size_t in_row = samples.size() / static_cast<std::size_t>(shape.height);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i % in_row == 0) rows += '\0';  // no filter
    rows.append(static_cast<std::size_t>(bits / 8), static_cast<char>(samples[i]));
  }
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const char letter : rows) {
    a = (a + static_cast<std::uint8_t>(letter)) % 65521;
    b = (b + a) % 65521;
  }
  const auto length = static_cast<std::uint32_t>(rows.size()),
             swapped = length % 256 << 8 | length / 256;
  const std::string data = "\x78\x01\x01" + big_endian(swapped, 2) +
                           big_endian(0xFFFF - swapped, 2) + rows + big_endian(b << 16 | a, 4);
  const std::string file =
      "\x89PNG\r\n\x1A\n" +
      chunk("IHDR" + big_endian(static_cast<std::uint32_t>(shape.width), 4) +
            big_endian(static_cast<std::uint32_t>(shape.height), 4) + static_cast<char>(bits) +
            static_cast<char>(grey ? 0 : 2) + std::string(3, '\0')) +
      chunks + chunk("IDAT" + data) + chunk("IEND");
  return {file.begin(), file.end()};
}

TEST(Png, SamplesAreReadAsTheyAreStored) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const ImageSize shape{64, 4};
  Bytes grey, colours, grey_as_colours;
  for (int i = 0; i < shape.width * shape.height; ++i) {
    const auto value = static_cast<std::uint8_t>(i);
    grey.push_back(value);
    grey_as_colours.insert(grey_as_colours.end(), 3, value);
    colours.insert(colours.end(), {value, static_cast<std::uint8_t>(255 - i), 128});
  }
  const std::string none, linear = chunk("gAMA" + big_endian(100000, 4)),
                          gamma = chunk("gAMA" + big_endian(45455, 4)),
                          srgb = chunk(std::string("sRGB\0", 5));
  for (const std::string& chunks : {none, linear, gamma, srgb, srgb + gamma})
    for (const int bits : {8, 16}) {
      EXPECT_EQ(decoded(stored_png(shape, bits, true, grey, chunks)), grey_as_colours) << bits;
      EXPECT_EQ(decoded(stored_png(shape, bits, false, colours, chunks)), colours) << bits;
    }
}

TEST(Png, TransparentPixelsKeepTheirColours) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes colours = {10, 20, 30, 200, 100, 0};
  const std::string transparent = chunk("tRNS" + std::string("\0\x0A\0\x14\0\x1E", 6));
  EXPECT_EQ(decoded(stored_png({2, 1}, 8, false, colours, transparent)), colours);
}

TEST(AnyImage, TheContentDecidesNotTheName) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const auto decoder = make_image_decoder();
  EXPECT_EQ(decoder->open(encode_jpeg(picture(size), size, 90)), size);
  EXPECT_TRUE(decoder->reduces());
  EXPECT_EQ(decoder->open(encode_png(picture(size), size)), size);
  EXPECT_FALSE(decoder->reduces());
  for (const Bytes& other : {Bytes{}, Bytes{0xFF}, Bytes{'G', 'I', 'F', '8', '9', 'a'}})
    EXPECT_THROW(decoder->open(other), BadSample);
}

}  // namespace test_png
}  // namespace assay
