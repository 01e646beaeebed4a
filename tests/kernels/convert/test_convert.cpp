// The conversion of 16-bit tensors: its oracle against wrong results, and the backend.

#include "core/base/error.hpp"
#include "kernels/convert/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_convert {

constexpr Precision precisions[] = {Precision::bf16_fp32, Precision::fp16_fp32};

TEST(Convert, IsExact) {
  for (const Precision precision : precisions)
    for (const std::int64_t n : {1, 15, 1024, 40013}) {
      const ConvertProblem problem(n, precision);
      EXPECT_TRUE(kernel_test::verify(problem, convert_oracle(problem), "reference", 2))
          << problem.canonical();
    }
}

TEST(Convert, EveryElementHasOneRightValue) {
  const ConvertProblem problem(3, Precision::fp16_fp32);
  const TensorSpec output = problem.tensors()[1];
  Inputs inputs;
  inputs.emplace("src", Values(Values::Kind::mantissa, 1, "src", DataType::fp16, 0));
  const std::int64_t indices[] = {0, 2};
  Expected expected[2];
  const auto oracle = convert_oracle(problem);
  oracle->expect(output, inputs, {}, false, indices, expected);
  EXPECT_EQ(expected[1].value, inputs.at("src")(2));
  EXPECT_EQ(expected[1].max_bound, 0);
  EXPECT_TRUE(oracle->whole(output).has_value());
}

TEST(Convert, RefusesWhatIsNone) {
  EXPECT_THROW(ConvertProblem(0, Precision::fp16_fp32), InputError);
  EXPECT_TRUE(why_not_precision(ConvertProblem(1, Precision::fp16)).has_value());
  EXPECT_EQ(ConvertProblem(7, Precision::bf16_fp32).bytes(), 42);
}

}  // namespace test_convert
}  // namespace assay
