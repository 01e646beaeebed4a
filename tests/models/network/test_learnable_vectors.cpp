#include "models/network/learnable_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "models/network/learnable_oracle.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_learnable_vectors {

std::vector<float> vector_of(const LearnableSamples& samples, std::int64_t index) {
  std::vector<float> all(static_cast<std::size_t>(samples.elements()));
  samples.make(index, all.data());
  return all;
}

TEST(LearnableVectors, EqualTheirSecondDefinition) {
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{7} << 33}) {
    const LearnableVectors samples(83, 7, seed);
    for (const std::int64_t index :
         {std::int64_t{0}, std::int64_t{12345}, LearnableSamples::validation_first + 3}) {
      const std::vector<float> made = vector_of(samples, index);
      for (std::int64_t i = 0; i < samples.elements(); ++i)
        ASSERT_EQ(made[static_cast<std::size_t>(i)], learnable_count(7, seed, index, i))
            << seed << " " << index << " " << i;
    }
  }
}

/// A sample belongs to the class whose markers are not 0 most often, which a first layer can add.
TEST(LearnableVectors, AreToldByTheirMarkersAndAreSparse) {
  const LearnableVectors samples(1024, 10, 1);
  constexpr int count = 200;
  std::vector<std::array<double, 10>> means(1024);
  double not_zero = 0;
  for (std::int64_t index = 0; index < 2000; ++index) {
    const std::vector<float> of = vector_of(samples, index);
    for (std::size_t i = 0; i < of.size(); ++i)
      means[i][static_cast<std::size_t>(samples.label(index))] += of[i] > 0 ? 1.0 / count : 0;
  }
  int right = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t index = LearnableSamples::validation_first + n;
    const std::vector<float> of = vector_of(samples, index);
    std::array<double, 10> votes{};
    for (std::size_t i = 0; i < of.size(); ++i) {
      not_zero += of[i] > 0 ? 1 : 0;
      for (std::size_t c = 0; c < 10; ++c) votes[c] += of[i] > 0 && means[i][c] > 0.15 ? 1 : 0;
    }
    const auto best = std::max_element(votes.begin(), votes.end()) - votes.begin();
    right += best == samples.label(index) ? 1 : 0;
  }
  EXPECT_GT(right, count * 8 / 10);
  EXPECT_LT(not_zero / (count * 1024), 0.05);
}

TEST(LearnableVectors, WhatCannotBeMadeIsRefused) {
  EXPECT_SAYS(fixture::message_of([] { LearnableVectors(15, 10, 1); }), "15 elements");
  EXPECT_SAYS(fixture::message_of([] { LearnableVectors(16, 1, 1); }), "1 classes");
  EXPECT_SAYS(fixture::message_of([] {
                learnable_samples({16, 2, 3}, Labels::per_sample, 10, 1);
              }),
              "16 channels of 2 x 3 pixels");
}

}  // namespace test_learnable_vectors
}  // namespace assay
