#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/svm/nelder_mead.hpp"

namespace assay {
namespace test_nelder_mead {

double rosenbrock(std::span<const double> x) {
  return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
}

// R 4.2: optim(c(-1.2, 1), fr)$value, $par and $counts of the manual's example are 8.825241e-08,
// (1.000260, 1.000506) and 195.
TEST(NelderMead, MinimisesAsRsOptimDoes) {
  NelderMead method(2);
  std::vector<double> x{-1.2, 1};
  const double least = method.minimise(rosenbrock, x, 500);
  EXPECT_NEAR(least, 8.825241e-08, 1e-12);
  EXPECT_NEAR(x[0], 1.000260, 1e-6);
  EXPECT_NEAR(x[1], 1.000506, 1e-6);
  EXPECT_EQ(method.evaluations(), 195);
}

TEST(NelderMead, StopsAfterItsEvaluations) {
  for (const int most : {1, 2, 3, 7, 50}) {
    NelderMead method(2);
    std::vector<double> x{-1.2, 1};
    int calls = 0;
    const double least = method.minimise(
        [&](std::span<const double> at) {
          ++calls;
          return rosenbrock(at);
        },
        x, most);
    EXPECT_EQ(calls, most);
    EXPECT_EQ(method.evaluations(), most);
    EXPECT_EQ(least, rosenbrock(x)) << "the best point that was evaluated";
    EXPECT_LE(least, rosenbrock(std::vector<double>{-1.2, 1}));
  }
}

TEST(NelderMead, ShrinksWhereNothingElseHelps) {
  // No point is better than the start, and all others are equal: the simplex halves around it.
  NelderMead method(3);
  std::vector<double> x{1, 1, 1}, last(3);
  const double least = method.minimise(
      [&](std::span<const double> at) {
        last.assign(at.begin(), at.end());
        return at[0] == 1 && at[1] == 1 && at[2] == 1 ? 0.0 : 1.0;
      },
      x, 4 + 10 * 5);  // each step: a reflection, a contraction, and three new vertices
  EXPECT_EQ(least, 0);
  double distance = 0;
  for (const double value : last) distance += std::abs(value - 1);
  EXPECT_NEAR(distance, 0.1 / 1024, 1e-12);
}

}  // namespace test_nelder_mead
}  // namespace assay
