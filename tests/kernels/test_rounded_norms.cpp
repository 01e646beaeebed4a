// The norm's bound of rounded results: a right rounding is never refused, also where few elements
// are the norm, and a result that is truncated instead is found.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "kernels/oracle/bounds.hpp"
#include "kernels/pool/problem.hpp"

namespace assay {
namespace test_rounded_norms {

struct Type {
  Precision precision;
  DataType type;
};
constexpr Type types[] = {{Precision::fp32, DataType::fp32},
                          {Precision::bf16, DataType::bf16},
                          {Precision::fp16, DataType::fp16}};

using Rounding = std::function<double(DataType, double)>;

double truncated(DataType type, double value) {
  const double step = 2 * std::ldexp(unit_roundoff(type), std::ilogb(value));
  return std::trunc(value / step) * step;
}

/// True if the errors' norm exceeds its bound.
bool refused(DataType type, const std::vector<Expected>& expected, const Rounding& rounding) {
  double errors = 0, bounds = 0;
  for (const Expected& of : expected) {
    errors += std::pow(rounding(type, of.value) - of.value, 2);
    bounds += of.rms_bound * of.rms_bound;
  }
  return errors > bounds;
}

/// Draws of `count` values in (-1, 1), element i times size(i), of which the norm is refused.
int refusals(const Type& of, std::size_t count, int draws, const Rounding& rounding,
             const std::function<double(std::size_t)>& size) {
  std::mt19937_64 random(count);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const sums::Bounds bounds(of.precision, {}, of.type, count);
  int found = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<Expected> expected(count);
    for (std::size_t i = 0; i < count; ++i)
      expected[i] = bounds.expected(uniform(random) * size(i), 0);
    found += refused(of.type, expected, rounding);
  }
  return found;
}

TEST(RoundedNorms, OfFewLargeElementsAreNeverRefused) {
  for (const Type& of : types)
    for (const std::size_t count : {1, 2, 3, 16, 512, 5000}) {
      const int draws = count > 512 ? 500 : 5000;
      const auto one = [](std::size_t i) { return i == 0 ? 1.0 : 1e-3; };
      const auto falling = [](std::size_t i) { return std::exp(-0.5 * std::min(i, 20UL)); };
      const auto alike = [](std::size_t) { return 1.0; };
      EXPECT_EQ(refusals(of, count, draws, round_to, one), 0) << name(of.type) << " " << count;
      EXPECT_EQ(refusals(of, count, draws, round_to, falling), 0) << name(of.type) << " " << count;
      EXPECT_EQ(refusals(of, count, draws, round_to, alike), 0) << name(of.type) << " " << count;
    }
}

TEST(RoundedNorms, OfTruncatedResultsAreRefused) {
  for (const Type& of : types)
    for (const std::size_t count : {500, 5000}) {
      const auto alike = [](std::size_t) { return 1.0; };
      EXPECT_EQ(refusals(of, count, 200, truncated, alike), 200) << name(of.type) << " " << count;
    }
}

/// Means of planes behind a rectifier, of which one is far larger: summed in fp32, rounded once.
TEST(RoundedNorms, OfMeansOfWholePlanesAreNeverRefused) {
  constexpr std::size_t planes = 512, pixels = 6;
  for (const Type& of : types) {
    const PoolProblem problem(parse_pool("mb2ic256ih2iw3kh2kw3"), PoolDirection::forward_inference,
                              PoolMode::average, of.precision);
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    std::vector<std::int64_t> indices(planes);
    for (std::size_t i = 0; i < planes; ++i) indices[i] = static_cast<std::int64_t>(i);
    const auto oracle = make_pool_oracle(problem);
    for (int draw = 0; draw < 1000; ++draw) {
      std::vector<double> src(planes * pixels);
      for (std::size_t i = 0; i < src.size(); ++i)
        src[i] = round_to(of.type, std::max(0.0, normal(random)) * (i < pixels ? 1 : 1e-3));
      std::vector<Expected> expected(planes);
      oracle->expect(problem.tensors().back(), {{"src", Values(src)}}, {}, false, indices,
                     expected);
      double errors = 0, bounds = 0;
      for (std::size_t i = 0; i < planes; ++i) {
        float sum = 0;
        for (std::size_t p = 0; p < pixels; ++p) sum += static_cast<float>(src[i * pixels + p]);
        const double error = round_to(of.type, sum * (1.0F / pixels)) - expected[i].value;
        errors += error * error;
        bounds += expected[i].rms_bound * expected[i].rms_bound;
      }
      ASSERT_LE(errors, bounds) << name(of.type) << " " << draw;
    }
  }
}

/// The rounding errors of equal terms are not independent: each binade's are the same.
TEST(RoundedNorms, OfMeansOfConstantPlanesAreNeverRefused) {
  constexpr std::size_t planes = 512, pixels = 256;
  const PoolProblem problem(parse_pool("mb1ic512ih16kh16"), PoolDirection::forward_inference,
                            PoolMode::average, Precision::fp32);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(1, 2);
  std::vector<std::int64_t> indices(planes);
  for (std::size_t i = 0; i < planes; ++i) indices[i] = static_cast<std::int64_t>(i);
  const auto oracle = make_pool_oracle(problem);
  for (int draw = 0; draw < 50; ++draw) {
    const float value = static_cast<float>(uniform(random));
    std::vector<Expected> expected(planes);
    oracle->expect(problem.tensors().back(),
                   {{"src", Values(std::vector<double>(planes * pixels, value))}}, {}, false,
                   indices, expected);
    float sum = 0;
    for (std::size_t p = 0; p < pixels; ++p) sum += value;
    const auto sequential = [&](DataType, double) { return sum * (1.0F / pixels); };
    ASSERT_FALSE(refused(DataType::fp32, expected, sequential)) << draw << " " << value;
  }
}

}  // namespace test_rounded_norms
}  // namespace assay
