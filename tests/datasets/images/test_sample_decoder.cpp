#include "datasets/images/sample_decoder.hpp"

#include <gtest/gtest.h>

#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_sample_decoder {

std::vector<float> decode_one(const Bytes& encoded, const DecodeSettings& settings,
                              std::int64_t index = 0, std::uint64_t epoch = 0) {
  std::vector<float> out(static_cast<std::size_t>(settings.elements()), -1e30F);
  SampleDecoder(settings).decode(encoded, epoch, index, out.data());
  return out;
}

std::vector<float> reference_one(const Bytes& encoded, const DecodeSettings& settings,
                                 std::int64_t index = 0, std::uint64_t epoch = 0) {
  std::vector<float> out(static_cast<std::size_t>(settings.elements()));
  reference_decode(encoded, settings, epoch, index, out.data());
  return out;
}

/// A colour that grows linearly: resizing it gives the same line at other places.
Bytes gradient(ImageSize size) {
  Bytes pixels;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (const double value : {255.0 * x / size.width, 255.0 * y / size.height, 100.0})
        pixels.push_back(static_cast<std::uint8_t>(std::lround(value)));
  return pixels;
}

double colour(float value, int c) {
  return (value * imagenet_deviation[c] + imagenet_mean[c]) * 255;
}

TEST(SampleDecoder, EqualsTheReferenceBitByBit) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const ImageSize sizes[] = {{500, 375}, {31, 47}, {640, 300}, {1, 1}, {3, 200}};
  for (const ImageSize size : sizes) {
    const Bytes pixels = picture(size);
    for (const Bytes& encoded :
         {encode_jpeg(pixels, size, 90), encode_jpeg(pixels, size, 97, JpegColours::ycck),
          encode_jpeg(pixels, size, 80, JpegColours::grey, true), encode_png(pixels, size)})
      for (const bool training : {true, false})
        for (const ImageLayout layout : {ImageLayout::nhwc, ImageLayout::nchw})
          for (const int side : {32, 61, 224})
            for (int i = 0; i < (side == 224 ? 1 : 4); ++i) {
              const DecodeSettings settings{side, training, layout, 5};
              ASSERT_EQ(decode_one(encoded, settings, i, 9), reference_one(encoded, settings, i, 9))
                  << size.width << " x " << size.height << " to " << side << ", sample " << i;
            }
  }
}

/// The place of every pixel, at full and reduced size: half a pixel beside it shows.
TEST(SampleDecoder, ALineStaysALine) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const ImageSize size{400, 320};
  const Bytes jpeg = encode_jpeg(gradient(size), size, 99), png = encode_png(gradient(size), size);
  for (const Bytes& encoded : {jpeg, png})
    for (const int side : {32, 60, 150, 300})
      for (int i = 0; i < 8; ++i) {
        const DecodeSettings settings{side, i > 0, ImageLayout::nhwc, 1};
        const View view = i > 0 ? training_view(size, 1, 0, i) : evaluation_view(size);
        const std::vector<float> out = decode_one(encoded, settings, i);
        const int edge = 2 + side / 16;  // there the filter is cut
        double sum_x = 0, sum_y = 0;
        for (int v = edge; v < side - edge; ++v)
          for (int u = edge; u < side - edge; ++u) {
            const int column = view.flip ? side - 1 - u : u;
            const double x = view.crop.x + (column + 0.5) * view.crop.width / side - 0.5;
            const double y = view.crop.y + (v + 0.5) * view.crop.height / side - 0.5;
            const std::size_t at = static_cast<std::size_t>(3 * (v * side + u));
            const double error_x = colour(out[at], 0) - 255 * x / size.width;
            const double error_y = colour(out[at + 1], 1) - 255 * y / size.height;
            ASSERT_NEAR(error_x, 0, 5);
            ASSERT_NEAR(error_y, 0, 5);
            ASSERT_NEAR(colour(out[at + 2], 2), 100, 5);
            sum_x += error_x;
            sum_y += error_y;
          }
        // Half a pixel is 0.32 or 0.4 of a colour.
        const double count = (side - 2 * edge) * (side - 2 * edge);
        EXPECT_NEAR(sum_x / count, 0, 0.16) << side << ' ' << i;
        EXPECT_NEAR(sum_y / count, 0, 0.16) << side << ' ' << i;
      }
}

TEST(SampleDecoder, LayoutsHoldTheSameNumbers) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const Bytes encoded = encode_png(picture({80, 70}), {80, 70});
  const int side = 24;
  const auto nhwc = decode_one(encoded, {side, true, ImageLayout::nhwc, 3});
  const auto nchw = decode_one(encoded, {side, true, ImageLayout::nchw, 3});
  for (int p = 0; p < side * side; ++p)
    for (int c = 0; c < 3; ++c)
      ASSERT_EQ(nhwc[static_cast<std::size_t>(3 * p + c)],
                nchw[static_cast<std::size_t>(c * side * side + p)]);
}

TEST(SampleDecoder, AFlipMirrors) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const ImageSize size{90, 64};
  const Bytes encoded = encode_png(gradient(size), size);
  int rising = 0, falling = 0;
  for (int i = 0; i < 40; ++i) {
    const auto out = decode_one(encoded, {16, true, ImageLayout::nhwc, 1}, i);
    const bool grows = out[3 * 2] < out[3 * 13];
    EXPECT_EQ(grows, !training_view(size, 1, 0, i).flip);
    ++(grows ? rising : falling);
  }
  EXPECT_GT(rising, 8);
  EXPECT_GT(falling, 8);
}

TEST(SampleDecoder, GoesOnAfterABadSample) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const DecodeSettings settings{32, true, ImageLayout::nhwc, 1};
  SampleDecoder decoder(settings);
  Bytes cut = test_image(1);
  cut.resize(cut.size() / 2);
  std::vector<float> out(static_cast<std::size_t>(settings.elements()));
  EXPECT_THROW(decoder.decode(cut, 0, 0, out.data()), BadSample);
  EXPECT_THROW(decoder.decode(Bytes{'n', 'o'}, 0, 0, out.data()), BadSample);
  decoder.decode(test_image(1), 0, 0, out.data());
  EXPECT_EQ(out, reference_one(test_image(1), settings));
}

}  // namespace test_sample_decoder
}  // namespace assay
