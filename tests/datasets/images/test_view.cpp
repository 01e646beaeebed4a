#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "datasets/images/view.hpp"

namespace assay {
namespace test_view {

constexpr ImageSize photo{500, 375};

std::tuple<double, double, double, double, bool> parts(const View& view) {
  return {view.crop.x, view.crop.y, view.crop.width, view.crop.height, view.flip};
}

TEST(TrainingView, IsThatOfRandomResizedCrop) {
  const int count = 20000;
  double area = 0, log_ratio = 0, x = 0, y = 0;
  int flips = 0;
  for (int i = 0; i < count; ++i) {
    const View view = training_view(photo, 7, 3, i);
    const Crop& crop = view.crop;
    const double part = crop.width * crop.height / (500.0 * 375.0);
    const double ratio = crop.width / crop.height;
    ASSERT_GE(part, 0.078) << i;  // sides are rounded
    ASSERT_LE(part, 1) << i;
    ASSERT_GE(ratio, 0.74) << i;
    ASSERT_LE(ratio, 1.35) << i;
    ASSERT_TRUE(crop.x >= 0 && crop.y >= 0 && crop.x + crop.width <= 500 &&
                crop.y + crop.height <= 375)
        << i;
    for (const double side : {crop.x, crop.y, crop.width, crop.height})
      ASSERT_EQ(side, std::floor(side));
    area += part;
    log_ratio += std::log(ratio);
    x += (crop.x + crop.width / 2) / 500;
    y += (crop.y + crop.height / 2) / 375;
    flips += view.flip ? 1 : 0;
  }
  // The means of 400,000 draws of torchvision's algorithm, written in Python: 0.4327 and 0.0307.
  // Crops that do not fit are drawn again, so they are not (0.08 + 1) / 2 and 0.
  EXPECT_NEAR(area / count, 0.4327, 0.006);
  EXPECT_NEAR(log_ratio / count, 0.0307, 0.006);
  EXPECT_NEAR(x / count, 0.5, 0.01);
  EXPECT_NEAR(y / count, 0.5, 0.01);
  EXPECT_NEAR(flips / double{count}, 0.5, 0.02);
}

TEST(TrainingView, IsAFunctionOfSeedEpochAndSample) {
  const auto view = parts(training_view(photo, 1, 2, 3));
  EXPECT_EQ(parts(training_view(photo, 1, 2, 3)), view);
  EXPECT_NE(parts(training_view(photo, 2, 2, 3)), view);
  EXPECT_NE(parts(training_view(photo, 1, 3, 3)), view);
  EXPECT_NE(parts(training_view(photo, 1, 2, 4)), view);
  EXPECT_NE(parts(training_view(photo, 1, 2, 3 + (std::int64_t{1} << 32))), view);
  EXPECT_NE(parts(training_view(photo, 1 + (std::uint64_t{1} << 32), 2, 3)), view);
}

TEST(TrainingView, MirrorsAndCropsAsFarAsItIsAsked) {
  const View centre = evaluation_view(photo);
  double x = 0, y = 0;
  const int count = 4000;
  for (int i = 0; i < count; ++i) {
    const View both = training_view(photo, 7, 3, i);
    View crop = training_view(photo, 7, 3, i, Augment::crop);
    EXPECT_FALSE(crop.flip);
    crop.flip = both.flip;
    EXPECT_EQ(parts(crop), parts(both));  // the same crops
    EXPECT_EQ(parts(training_view(photo, 7, 3, i, Augment::none)), parts(centre));
    const View shift = training_view(photo, 7, 3, i, Augment::shift);
    EXPECT_FALSE(shift.flip);
    ASSERT_EQ(shift.crop.width, centre.crop.width);
    ASSERT_EQ(shift.crop.height, centre.crop.height);
    ASSERT_GE(std::min(shift.crop.x, shift.crop.y), 0);
    ASSERT_LE(shift.crop.x + shift.crop.width, 500);
    ASSERT_LE(shift.crop.y + shift.crop.height, 375);
    x += shift.crop.x / (500 - shift.crop.width);
    y += shift.crop.y / (375 - shift.crop.height);
  }
  // Everywhere alike: 4 deviations of the mean of uniform numbers.
  EXPECT_NEAR(x / count, 0.5, 4 / std::sqrt(12.0 * count));
  EXPECT_NEAR(y / count, 0.5, 4 / std::sqrt(12.0 * count));
}

TEST(TrainingView, TakesTheLargestCentredCropWhereNoneFits) {
  for (int i = 0; i < 50; ++i) {
    const Crop wide = training_view({4000, 30}, 1, 0, i).crop;
    EXPECT_EQ(wide.height, 30);
    EXPECT_EQ(wide.width, 40);
    EXPECT_EQ(wide.x, 1980);
    const Crop high = training_view({30, 4000}, 1, 0, i).crop;
    EXPECT_EQ(high.width, 30);
    EXPECT_EQ(high.height, 40);
    EXPECT_EQ(high.y, 1980);
    const Crop point = training_view({1, 1}, 1, 0, i).crop;
    EXPECT_TRUE(point.x == 0 && point.y == 0 && point.width == 1 && point.height == 1);
  }
}

TEST(EvaluationView, IsTheCentre) {
  const View view = evaluation_view({512, 256});
  EXPECT_EQ(parts(view), std::make_tuple(144.0, 16.0, 224.0, 224.0, false));
  EXPECT_EQ(evaluation_view({100, 300}).crop.width, 87.5);
}

TEST(Reduction, LeavesAsManyPixelsAsTheResultHas) {
  EXPECT_EQ(reduction_for({0, 0, 500, 223}, 224), 1);
  EXPECT_EQ(reduction_for({0, 0, 500, 447}, 224), 1);
  EXPECT_EQ(reduction_for({0, 0, 448, 500}, 224), 2);
  EXPECT_EQ(reduction_for({0, 0, 896, 896}, 224), 4);
  EXPECT_EQ(reduction_for({0, 0, 9000, 1792}, 224), 8);
}

}  // namespace test_view
}  // namespace assay
