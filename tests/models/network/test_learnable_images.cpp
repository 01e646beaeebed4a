#include "models/network/learnable_images.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "datasets/image_files/image_files.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_learnable_images {

using fixture::message_of;
using Image = std::vector<float>;

Image image_of(const LearnableImages& images, std::int64_t index) {
  Image image(static_cast<std::size_t>(images.elements()));
  images.make(index, image.data());
  return image;
}

std::uint32_t check_of(const Image& image) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(image.data()), 4 * image.size()});
}

TEST(LearnableImages, AreTheSameOnEveryProcessor) {
  const LearnableImages images({10, 32, 1}), odd({7, 19, 5});
  EXPECT_EQ(check_of(image_of(images, 0)), 1333327967u);
  EXPECT_EQ(check_of(image_of(images, LearnableImages::validation_first + 12345)), 2561478271u);
  EXPECT_EQ(check_of(image_of(odd, 59999)), 685964812u);
  EXPECT_EQ(images.canonical(), "learnable:c10s32seed1");
}

TEST(LearnableImages, DependOnTheirNumbersAlone) {
  const LearnableImages images({10, 16, 3});
  const Image first = image_of(images, 17);
  Image other(first.size());
  image_of(images, 18);
  std::thread([&] { images.make(17, other.data()); }).join();
  EXPECT_EQ(other, first);
  EXPECT_EQ(image_of(LearnableImages({10, 16, 3}), 17), first);
  for (const Image& different :
       {image_of(images, 27), image_of(images, 17 + LearnableImages::validation_first - 1),
        image_of(LearnableImages({10, 16, 4}), 17),
        image_of(LearnableImages({10, 16, 3 + (std::uint64_t{1} << 32)}), 17),
        image_of(LearnableImages({11, 16, 3}), 18)})
    EXPECT_NE(different, first);
  EXPECT_EQ(images.label(17), 7);
}

TEST(LearnableImages, HaveMeanNear0AndDeviationNear1) {
  for (const int size : {8, 16, 32, 45}) {
    const LearnableImages images({10, size, 1});
    double sum = 0, squares = 0, most = 0;
    for (int i = 0; i < 1000; ++i)
      for (const float value : image_of(images, i)) {
        sum += value;
        squares += double{value} * value;
        most = std::max(most, std::abs(double{value}));
      }
    const double count = 1000 * static_cast<double>(images.elements());
    EXPECT_NEAR(sum / count, 0, 0.03);
    EXPECT_NEAR(std::sqrt(squares / count), 1, 0.1);
    EXPECT_LT(most, 5);
  }
}

/// The part of unseen images that mean images of classes tell, where an image is first moved to
/// where it fits best, by up to `reach` pixels in each direction.
class Templates {
 public:
  Templates(const LearnableImages& images, int reach) : images_(images), reach_(reach) {
    for (std::int64_t k = 0; k < images.classes(); ++k) means_.push_back(centred(k));
    for (int pass = 0; pass < 2; ++pass) {
      std::vector<Image> sums(means_.size(), Image(means_[0].size()));
      for (std::int64_t i = 0; i < 40 * images.classes(); ++i) {
        const auto k = static_cast<std::size_t>(images.label(i));
        const Image image = centred(i);
        const auto [fit, x, y] = best(image, means_[k]);
        for (std::size_t e = 0; e < image.size(); ++e) sums[k][e] += image[moved(e, x, y)];
      }
      means_ = sums;
    }
  }

  double accuracy(int count) const {
    int right = 0;
    for (int i = 0; i < count; ++i) {
      const std::int64_t index = LearnableImages::validation_first + i;
      const Image image = centred(index);
      double most = -std::numeric_limits<double>::infinity();
      std::int64_t found = -1;
      for (std::size_t k = 0; k < means_.size(); ++k) {
        double norm = 0;
        for (const float value : means_[k]) norm += double{value} * value;
        const double fit = best(image, means_[k]).fit / std::sqrt(norm);
        if (fit > most) {
          most = fit;
          found = static_cast<std::int64_t>(k);
        }
      }
      right += found == images_.label(index) ? 1 : 0;
    }
    return right / static_cast<double>(count);
  }

 private:
  struct Fit {
    double fit;
    int x, y;
  };

  /// The image without the constant of each colour.
  Image centred(std::int64_t index) const {
    Image image = image_of(images_, index);
    double mean[3] = {};
    for (std::size_t e = 0; e < image.size(); ++e) mean[e % 3] += image[e];
    for (std::size_t e = 0; e < image.size(); ++e)
      image[e] -= static_cast<float>(3 * mean[e % 3] / static_cast<double>(image.size()));
    return image;
  }

  std::size_t moved(std::size_t e, int x, int y) const {
    const int size = images_.size(), at = static_cast<int>(e) / 3;
    const int column = (at % size + x + size) % size, row = (at / size + y + size) % size;
    return static_cast<std::size_t>(3 * (row * size + column)) + e % 3;
  }

  Fit best(const Image& image, const Image& mean) const {
    Fit found{-std::numeric_limits<double>::infinity(), 0, 0};
    for (int y = -reach_; y <= reach_; ++y)
      for (int x = -reach_; x <= reach_; ++x) {
        double fit = 0;
        for (std::size_t e = 0; e < image.size(); ++e)
          fit += double{image[moved(e, x, y)]} * mean[e];
        if (fit > found.fit) found = {fit, x, y};
      }
    return found;
  }

  const LearnableImages& images_;
  int reach_;
  std::vector<Image> means_;
};

// So a network without convolutions does not learn them at once, and one with convolutions does.
TEST(LearnableImages, AreToldByLocalPatternsAndNotByMeanImages) {
  for (const std::uint64_t seed : {1, 2}) {
    const LearnableImages images({10, 16, seed});
    const double still = Templates(images, 0).accuracy(200);
    EXPECT_LT(still, 0.7);
    EXPECT_GT(still, 0.15);
    EXPECT_GE(Templates(images, 4).accuracy(200), 0.98);
  }
}

TEST(LearnableImages, WhatCannotBeMadeIsRefused) {
  EXPECT_SAYS(message_of([] { LearnableImages({1, 32, 1}); }), "1 classes");
  EXPECT_SAYS(message_of([] { LearnableImages({10, 7, 1}); }), "7 pixels a side");
  EXPECT_EQ(message_of([] { LearnableImages({2, 8, 1}); }), "accepted");
}

}  // namespace test_learnable_images
}  // namespace assay
