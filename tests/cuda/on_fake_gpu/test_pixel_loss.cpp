// The loss of pixels by our own kernels, on a fake GPU that runs their threads on the host.

#include "kernels/pixel_loss/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_pixel_loss {

/// One pixel, parts of a thread that end within a sample, with and without whole packs, and sums of
/// several stages.
TEST(PixelLossOnGpu, HasEveryPassAndPrecision) {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    for (const PixelLossPass pass : {PixelLossPass::training, PixelLossPass::validation})
      for (const PixelLossShape& shape :
           {PixelLossShape{1, 2, 1, 1}, PixelLossShape{2, 3, 48, 72}, PixelLossShape{2, 3, 4, 6},
            PixelLossShape{2, 3, 5, 7}, PixelLossShape{3, 20, 5, 7}}) {
        const PixelLossProblem problem(shape, pass, precision);
        EXPECT_TRUE(kernel_test::verify(problem, make_pixel_loss_oracle(problem), "cuda", 1))
            << problem.canonical();
      }
}

}  // namespace test_pixel_loss
}  // namespace assay
