// An fp32 row whose norm bound is wider than the error of tf32 is not judged: each kernel says so.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/conv/problem.hpp"
#include "kernels/gemm/problem.hpp"
#include "kernels/linalg/problem.hpp"
#include "kernels/norm/problem.hpp"
#include "kernels/rnn/problem.hpp"

namespace assay {
namespace test_tf32_bounds {

TEST(Tf32Bounds, AreTheWidestOfFp32) {
  const auto widest = [](Precision precision) {
    const NormShape norm = parse_norm("mb2ic4ih4");
    return std::vector<double>{
        make_conv_oracle(
            ConvProblem(parse_conv("mb1ic8ih8oc8kh3ph1"), ConvDirection::forward, precision))
            ->widest_norm_bound(),
        make_gemm_oracle(GemmProblem(parse_gemm("m8n8k8"), precision))->widest_norm_bound(),
        make_rnn_oracle(RnnProblem(parse_rnn("lstm:8-2-3"), RnnInput::linear,
                                   RnnDirection::forward_training, precision))
            ->widest_norm_bound(),
        make_norm_oracle(
            NormProblem(norm, NormDirection::forward_training, NormFusion::none, precision))
            ->widest_norm_bound(),
        make_linalg_oracle(LinalgProblem(parse_linalg("syrk:n100d4"), precision))
            ->widest_norm_bound(),
        make_linalg_oracle(LinalgProblem(parse_linalg("moments:n100d4"), precision))
            ->widest_norm_bound()};
  };
  EXPECT_EQ(widest(Precision::fp32), std::vector<double>(6, 3e-4));
  for (const double bound : widest(Precision::fp64)) EXPECT_TRUE(std::isinf(bound));
}

}  // namespace test_tf32_bounds
}  // namespace assay
