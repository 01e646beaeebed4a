// The loss by our own kernels, on a fake GPU that runs their threads on the host.

#include "kernels/loss/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_loss {

/// Fewer classes than lanes, one each, several, and more samples than one stage of a sum has.
TEST(LossOnGpu, HasEveryPassAndPrecision) {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    for (const LossPass pass : {LossPass::training, LossPass::validation})
      for (const double smoothing : {0.0, 0.1})
        for (const auto& [samples, classes] :
             {std::pair{1, 2}, std::pair{16, 1000}, std::pair{7, 3}, std::pair{5, 32},
              std::pair{9, 33}, std::pair{700, 10}}) {
          const LossProblem problem({samples, classes, smoothing, classes != 33}, pass, precision);
          EXPECT_TRUE(kernel_test::verify(problem, make_loss_oracle(problem), "cuda", 1))
              << problem.canonical();
        }
}

}  // namespace test_loss
}  // namespace assay
