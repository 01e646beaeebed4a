#include "core/api/checksum_weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace assay {
namespace test_checksum_weights {

std::vector<double> by_factors(const ChecksumWeights& weights,
                               const std::vector<std::int64_t>& dims, std::int64_t first,
                               std::size_t count) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t index = first + static_cast<std::int64_t>(i);
    double weight = 1;
    for (std::size_t dim = dims.size(); dim-- > 0; index /= dims[dim])
      weight *= weights.factor(dim, index % dims[dim]);
    all.push_back(weight);
  }
  return all;
}

TEST(ChecksumWeights, AreTheProductsOfTheirFactors) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {1},           {7},       {3, 5},           {2, 3, 4, 5}, {100000},
      {3, 70001},    {2, 4096}, {2, 1, 300, 300}, {5, 1, 1, 1}, {1000, 2, 2, 2},
      {2, 65536, 3}, {}};
  std::mt19937 random(1);
  for (const auto& dims : shapes) {
    const ChecksumWeights weights(dims, 11);
    std::int64_t elements = 1;
    for (const std::int64_t extent : dims) elements *= extent;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t first = static_cast<std::int64_t>(random()) % elements;
      const auto count =
          static_cast<std::size_t>(std::min<std::int64_t>(elements - first, 1 + random() % 9000));
      std::vector<double> filled(count);
      weights.fill(first, filled);
      ASSERT_EQ(filled, by_factors(weights, dims, first, count)) << dims.size() << " " << first;
    }
  }
}

TEST(ChecksumWeights, AreSmallIntegersOfBothSigns) {
  const std::int64_t n = 20000;
  const ChecksumWeights weights(std::vector<std::int64_t>{n}, 3);
  std::vector<double> all = weights.factors(0);
  double sum = 0, squares = 0;
  for (const double weight : all) {
    ASSERT_EQ(weight, std::round(weight));
    ASSERT_GE(std::abs(weight), 1);
    ASSERT_LE(std::abs(weight), 8);
    sum += weight;
    squares += weight * weight;
  }
  EXPECT_EQ((std::set<double>(all.begin(), all.end()).size()), 16u);
  EXPECT_NEAR(squares / n, weights.mean_square(), 1.5);
  EXPECT_LT(std::abs(sum), 6 * std::sqrt(squares));
}

TEST(ChecksumWeights, DifferByTheSeed) {
  const std::vector<std::int64_t> dims{50, 50};
  EXPECT_NE(ChecksumWeights(dims, 1).factors(0), ChecksumWeights(dims, 2).factors(0));
  EXPECT_NE(ChecksumWeights(dims, 1).factors(0), ChecksumWeights(dims, 1).factors(1));
  EXPECT_EQ(ChecksumWeights(dims, 1).factors(1), ChecksumWeights(dims, 1).factors(1));
}

}  // namespace test_checksum_weights
}  // namespace assay
