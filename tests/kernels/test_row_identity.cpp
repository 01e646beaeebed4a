#include <gtest/gtest.h>

#include "kernels/concat/benchmark.hpp"
#include "kernels/gemm/benchmark.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "kernels/norm/benchmark.hpp"
#include "kernels/pool/benchmark.hpp"
#include "kernels/resize/benchmark.hpp"
#include "kernels/rnn/benchmark.hpp"
#include "tests/core/parameters_judged.hpp"

namespace assay {
namespace test_row_identity {

TEST(RowIdentity, ParametersOfKernels) {
  fixture::expect_parameters_judged(concat_benchmark());
  fixture::expect_parameters_judged(gemm_benchmark());
  fixture::expect_parameters_judged(linalg_benchmark());
  fixture::expect_parameters_judged(norm_benchmark());
  fixture::expect_parameters_judged(pool_benchmark());
  fixture::expect_parameters_judged(resize_benchmark());
  fixture::expect_parameters_judged(rnn_benchmark());
}

}  // namespace test_row_identity
}  // namespace assay
