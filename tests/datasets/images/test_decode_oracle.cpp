#include "datasets/images/decode_oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "datasets/images/sample_decoder.hpp"
#include "tests/datasets/images/image_sets.hpp"

namespace assay {
namespace test_decode_oracle {

/// The largest error over its bound.
double compare(const Bytes& encoded, const DecodeSettings& settings, const DecodeOracle& oracle,
               std::uint64_t epoch, std::int64_t index) {
  std::vector<float> out(static_cast<std::size_t>(settings.elements()));
  SampleDecoder(settings).decode(encoded, epoch, index, out.data());
  double worst = 0;
  for (int row = 0; row < settings.size; ++row)
    for (int column = 0; column < settings.size; ++column)
      for (int colour = 0; colour < 3; ++colour) {
        const DecodeOracle::Element expected = oracle.at(row, column, colour);
        const double found =
            out[static_cast<std::size_t>(3 * (row * settings.size + column) + colour)];
        worst = std::max(worst, std::fabs(found - expected.value) / expected.bound);
      }
  return worst;
}

TEST(DecodeOracle, AgreesWithTheDecoder) {
  ASSAY_SKIP_WITHOUT_IMAGES();
  const ImageSize sizes[] = {{500, 375}, {31, 47}, {640, 300}, {1, 1}, {3, 200}, {800, 90}};
  for (const ImageSize size : sizes)
    for (const Bytes& encoded :
         {encode_jpeg(picture(size), size, 90), encode_png(picture(size), size)})
      for (const char* augment : {"crop+flip", "crop", "shift", "none", "evaluation"})
        for (const int side : {32, 61}) {
          const bool training = std::string(augment) != "evaluation";
          DecodeSettings settings{side, training, ImageLayout::nhwc, 5};
          if (training) settings.augment = augment_names.at(augment);
          for (std::int64_t index = 0; index < 3; ++index) {
            const DecodeOracle oracle(encoded, {side, training, augment, 5}, 9, index);
            ASSERT_TRUE(oracle.is_decided());
            EXPECT_LE(compare(encoded, settings, oracle, 9, index), 1)
                << augment << " " << size.width << " x " << size.height << " to " << side;
          }
          // A smooth picture shows half a pixel beside it, or another constant.
          if (!training || size.width < 100) continue;
          const DecodeOracle other(encoded, {side, !training, augment, 5}, 9, 0);
          if (std::string(augment) == "none") continue;
          EXPECT_GT(compare(encoded, settings, other, 9, 0), 100) << augment;
        }
}

TEST(DecodeOracle, ViewsAreThoseOfTraining) {
  for (const ImageSize size : {ImageSize{500, 375}, ImageSize{3000, 100}, ImageSize{9, 700}})
    for (std::int64_t sample = 0; sample < 1000; ++sample)
      for (const char* augment : {"crop+flip", "crop", "shift", "none"}) {
        const View view = training_view(size, 7, 3, sample, augment_names.at(augment));
        const ClaimedView claimed = compute_claimed_view(size, augment, 7, 3, sample);
        ASSERT_TRUE(claimed.decided);
        ASSERT_EQ(view.crop.x, claimed.left) << augment;
        ASSERT_EQ(view.crop.y, claimed.top);
        ASSERT_EQ(view.crop.width, claimed.width);
        ASSERT_EQ(view.crop.height, claimed.height);
        ASSERT_EQ(view.flip, claimed.mirrored);
      }
}

/// Both formulas must differ: a view that is the same for all samples or epochs would agree with
/// itself.
TEST(DecodeOracle, ViewsDifferBetweenSamplesAndEpochs) {
  std::set<std::pair<double, double>> claimed, made;
  int mirrored = 0;
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch)
    for (std::int64_t sample = 0; sample < 100; ++sample) {
      const ClaimedView own = compute_claimed_view({500, 375}, "crop+flip", 7, epoch, sample);
      const View view = training_view({500, 375}, 7, epoch, sample);
      claimed.insert({own.left + 1000 * own.width, own.top + 1000 * own.height});
      made.insert({view.crop.x + 1000 * view.crop.width, view.crop.y + 1000 * view.crop.height});
      mirrored += own.mirrored ? 1 : 0;
    }
  EXPECT_GT(claimed.size(), 990U);
  EXPECT_GT(made.size(), 990U);
  EXPECT_NEAR(mirrored, 500, 80);
}

}  // namespace test_decode_oracle
}  // namespace assay
