// The sum of two tensors: its oracle against wrong results, and the backends.

#include <random>

#include "core/base/error.hpp"
#include "kernels/sum/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_sum {

constexpr Precision precisions[] = {Precision::fp64, Precision::fp32, Precision::bf16,
                                    Precision::fp16};

TEST(Sum, BackendsOverRandomSizes) {
  std::mt19937 random(5);
  for (const char* backend : {"reference", "native"})
    for (const Precision precision : precisions)
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{15}, std::int64_t{1024},
                                   1 + static_cast<std::int64_t>(random() % 70000)})
        for (const bool in_place : {false, true}) {
          const SumProblem problem(n, precision, in_place);
          EXPECT_TRUE(kernel_test::verify(problem, make_sum_oracle(problem), backend, 2))
              << backend << " " << problem.canonical();
        }
}

TEST(Sum, EveryElementHasOneRightValue) {
  for (const bool in_place : {false, true}) {
    const SumProblem problem(3, Precision::fp32, in_place);
    const TensorSpec output = problem.tensors()[in_place ? 0 : 2];
    Inputs inputs;
    for (const char* name : {"a", "b"})
      inputs.emplace(name, Values(Values::Kind::mantissa, 1, name, DataType::fp32, 0));
    const std::int64_t indices[] = {0, 2};
    Expected expected[2];
    const auto oracle = make_sum_oracle(problem);
    oracle->expect(output, inputs, {}, false, indices, expected);
    EXPECT_EQ(expected[1].value, inputs.at("a")(2) + inputs.at("b")(2));
    EXPECT_EQ(expected[1].max_bound, 0);
    EXPECT_TRUE(oracle->whole(output).has_value());
  }
}

TEST(Sum, RefusesWhatIsNone) {
  EXPECT_THROW(SumProblem(0, Precision::fp32), InputError);
  EXPECT_TRUE(why_not_precision(SumProblem(1, Precision::int8)).has_value());
  EXPECT_EQ(SumProblem(7, Precision::bf16).bytes(), 42);
}

}  // namespace test_sum
}  // namespace assay
