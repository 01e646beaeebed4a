// The squared error by our own kernels, on a fake GPU that runs their threads on the host.

#include "kernels/squared_error/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_squared_error {

/// One feature, tiles that end within a sample, with and without whole packs, and sums of several
/// stages.
TEST(SquaredErrorOnGpu, HasEveryPassAndPrecision) {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    for (const SquaredErrorPass pass : {SquaredErrorPass::training, SquaredErrorPass::validation})
      for (const SquaredErrorShape& shape :
           {SquaredErrorShape{1, 1}, SquaredErrorShape{7, 300}, SquaredErrorShape{3, 264},
            SquaredErrorShape{3, 261}, SquaredErrorShape{2, 40000}}) {
        const SquaredErrorProblem problem(shape, pass, precision);
        EXPECT_TRUE(kernel_test::verify(problem, make_squared_error_oracle(problem), "cuda", 1))
            << problem.canonical();
      }
}

}  // namespace test_squared_error
}  // namespace assay
