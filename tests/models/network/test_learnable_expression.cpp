// Generated expression against its second definition, and what can be learnt of it.
#include "models/network/learnable_expression.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "models/network/claimed_error.hpp"
#include "models/network/learnable_oracle.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_learnable_expression {

std::vector<double> sample_of(const LearnableSamples& samples, std::int64_t index) {
  std::vector<float> all(static_cast<std::size_t>(samples.elements()));
  samples.make(index, all.data());
  return {all.begin(), all.end()};
}

TEST(LearnableExpression, EqualsItsSecondDefinition) {
  for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{7} << 33}) {
    const LearnableExpression samples(211, seed);
    for (const std::int64_t index :
         {std::int64_t{0}, std::int64_t{12345}, LearnableSamples::validation_first + 3}) {
      const std::vector<double> made = sample_of(samples, index);
      for (std::int64_t i = 0; i < samples.elements(); ++i) {
        const double value = made[static_cast<std::size_t>(i)];
        ASSERT_EQ(value, learnable_expression(seed, index, i)) << seed << " " << index << " " << i;
        ASSERT_TRUE(value > 0 && value < 1) << value;
      }
    }
  }
  EXPECT_EQ(LearnableExpression(211, 4).labels(), 0);
}

/// The mean of all samples is no answer that is good enough, and samples differ.
TEST(LearnableExpression, IsNotItsMean) {
  const LearnableExpression samples(1024, 1);
  std::vector<double> mean(1024);
  for (std::int64_t n = 0; n < 1000; ++n) {
    const std::vector<double> of = sample_of(samples, n);
    for (std::size_t i = 0; i < of.size(); ++i) mean[i] += of[i] / 1000;
  }
  double sum = 0, between = 0;
  for (std::int64_t n = 0; n < 200; ++n) {
    const std::vector<double> of = sample_of(samples, LearnableSamples::validation_first + n);
    sum += compute_claimed_error(mean, of, 0).correlation.value / 200;
    between += compute_claimed_error(sample_of(samples, n), of, 0).correlation.value / 200;
  }
  EXPECT_GT(sum, 0.6);
  EXPECT_LT(sum, 0.87);
  EXPECT_LT(between, 0.75);
}

TEST(LearnableExpression, WhatCannotBeMadeIsRefused) {
  EXPECT_SAYS(fixture::message_of([] { LearnableExpression(15, 1); }), "15 elements");
  EXPECT_EQ(learnable_samples({64, 1, 1}, Labels::none, 1, 3)->canonical(), "learnable:i64seed3");
}

}  // namespace test_learnable_expression
}  // namespace assay
