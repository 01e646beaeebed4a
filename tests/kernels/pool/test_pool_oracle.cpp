// The oracle of pooling: by hand, and against mistakes.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/pool/problem.hpp"

namespace assay {
namespace test_pool_oracle {

Values stored(std::vector<double> values) { return Values(std::move(values)); }

std::vector<Expected> expect(const PoolProblem& problem, const Inputs& inputs) {
  const TensorSpec output = problem.tensors().back();
  std::vector<std::int64_t> indices(static_cast<std::size_t>(output.elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  std::vector<Expected> expected(indices.size());
  make_pool_oracle(problem)->expect(output, inputs, {}, false, indices, expected);
  return expected;
}

std::vector<double> values_of(const std::vector<Expected>& expected) {
  std::vector<double> values;
  for (const Expected& element : expected) values.push_back(element.value);
  return values;
}

TEST(PoolOracle, ByHand) {
  const PoolShape shape = parse_pool("mb1ic1ih3kh2ph1sh2");  // windows of 1, 2, 2 and 4 elements
  const auto problem = [&](PoolDirection direction, PoolMode mode) {
    return PoolProblem(shape, direction, mode, Precision::fp32);
  };
  const Inputs inputs{{"src", stored({1, 5, 2, 7, 3, 3, 0, 3, -4})},
                      {"diff_dst", stored({10, 20, 30, 40})}};
  EXPECT_EQ(values_of(expect(problem(PoolDirection::forward_training, PoolMode::max), inputs)),
            (std::vector<double>{1, 5, 7, 3}));
  EXPECT_EQ(values_of(expect(problem(PoolDirection::forward_inference, PoolMode::average), inputs)),
            (std::vector<double>{1, 3.5, 3.5, 1.25}));
  // The first of the three equal elements of the last window takes the gradient.
  EXPECT_EQ(values_of(expect(problem(PoolDirection::backward, PoolMode::max), inputs)),
            (std::vector<double>{10, 20, 0, 30, 40, 0, 0, 0, 0}));
  EXPECT_EQ(values_of(expect(problem(PoolDirection::backward, PoolMode::average), inputs)),
            (std::vector<double>{10, 10, 10, 15, 10, 10, 15, 10, 10}));
}

TEST(PoolOracle, CopiesAreExactAndSumsAlmost) {
  const PoolShape shape = parse_pool("mb1ic2ih8kh3sh2ph1");
  const Values values(Values::Kind::mantissa, 3, "src", DataType::fp32, 0);
  for (const PoolMode mode : {PoolMode::max, PoolMode::average}) {
    const PoolProblem problem(shape, PoolDirection::forward_training, mode, Precision::fp32);
    for (const Expected& element : expect(problem, {{"src", values}})) {
      if (mode == PoolMode::max)
        EXPECT_EQ(element.max_bound, 0);
      else
        EXPECT_GT(element.max_bound, 0);
      EXPECT_LT(element.max_bound, 1e-5);  // an error of bf16's rounding is 2e-3
    }
  }
}

}  // namespace test_pool_oracle
}  // namespace assay
