// Sums of products that the GPU adds for references beside those of the host.

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/gemm/problem.hpp"
#include "prover_trial.hpp"

namespace assay {
namespace test_prover_products {

using namespace prover_trial;

std::unique_ptr<Oracle> oracle_of(const ConvProblem& problem) { return make_conv_oracle(problem); }
std::unique_ptr<Oracle> oracle_of(const GemmProblem& problem) { return make_gemm_oracle(problem); }

/// The host expects the same of outputs of products with its own sums and with the GPU's.
template <class P>
void expect_same_sums(const P& problem, bool nhwc, bool stored = true) {
  static std::uint64_t seed = 0;  // memory may hold the sums of equal inputs
  const Trial trial(oracle_of(problem), problem.tensors(), nhwc, stored, ++seed);
  const auto host = oracle_of(problem);
  const TensorSpec& output = trial.specs[2];
  const std::vector<std::int64_t> indices = host->sample(output, 2e5, 3);
  std::vector<Expected> here(indices.size()), there(indices.size());
  const std::size_t before = crossed();
  trial.oracle->expect(output, *trial.inputs, Execution{}, false, indices, there);
  if (fake_gpu::counter != nullptr) {
    EXPECT_GT(crossed() - before, 24 * indices.size()) << "the GPU was not asked";
  }
  host->expect(output, *trial.inputs, Execution{}, false, indices, here);
  // The reference of fp64 is rounded itself.
  const double part = problem.precision() == Precision::fp64 ? 0.1 : 1e-6;
  for (std::size_t i = 0; i < here.size(); ++i) {
    ASSERT_NEAR(here[i].value, there[i].value, part * here[i].max_bound) << indices[i];
    ASSERT_NEAR(here[i].max_bound, there[i].max_bound, 1e-9 * here[i].max_bound) << indices[i];
    ASSERT_NEAR(here[i].rms_bound, there[i].rms_bound, 1e-9 * here[i].rms_bound) << indices[i];
  }
}

TEST(Prover, AddsConvolutionsAsTheHost) {
  for (const char* shape :
       {"mb2ic6ih9oc4oh5kh3sh2ph1", "g2mb3ic4ih7iw5oc6oh3ow4kh3kw2dh1ph0pw0", "mb1ic5ih8oc3oh8kh1",
        "mb5ic3ih40oc2oh40kh3ph1", "mb1ic2id4ih5iw6oc3od4oh5ow6kd3kh3kw3pd1ph1pw1"})
    for (const ConvDirection direction :
         {ConvDirection::forward, ConvDirection::bwd_data, ConvDirection::bwd_weights})
      for (const Precision precision : {Precision::fp64, Precision::fp32, Precision::bf16})
        for (const bool nhwc : {false, true})
          for (const bool stored : {false, true}) {
            expect_same_sums(ConvProblem(parse_conv(shape), direction, precision), nhwc, stored);
            ASSERT_FALSE(HasFailure()) << shape << name(direction) << name(precision) << nhwc;
          }
}

TEST(Prover, AddsProductsOfMatricesAsTheHost) {
  for (const char* shape :
       {"m13n11k17", "m13n11k1030ta", "m13n11k17tb", "m13n11k600tatb",
        "m13n11k17b3lda14ldb19ldc15beta1", "m8n9k10alpha2beta-1tb", "m5n3k700alpha0.5ldc9"})
    for (const Precision precision :
         {Precision::fp64, Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16_fp32})
      for (const bool stored : {false, true}) {
        expect_same_sums(GemmProblem(parse_gemm(shape), precision), false, stored);
        ASSERT_FALSE(HasFailure()) << shape << name(precision) << stored;
      }
}

/// Their bounds know subnormal factors, which processors may read as 0.
TEST(Prover, CountsSubnormalFactorsAsTheHost) {
  const GemmProblem problem(parse_gemm("m5n4k600"), Precision::fp32);
  Trial trial(make_gemm_oracle(problem), problem.tensors(), false, true);
  // 200 products of 2^-110 each, and zeros.
  for (const std::size_t k : {0, 1}) {
    const auto tensor = gpu().allocate(trial.specs[k]);
    gpu().put(*tensor, [&](std::int64_t first, std::span<double> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = k == 1                                                ? 0x1p20
                 : (first + static_cast<std::int64_t>(i)) / 5 % 3 == 0 ? 0x1p-130
                                                                       : 0;
    });
    trial.inputs->insert_or_assign(trial.specs[k].name,
                                   Values(std::make_shared<const TensorValues>(gpu(), *tensor)));
  }
  const std::vector<std::int64_t> indices{0, 7, 19};
  std::vector<Expected> here(3), there(3);
  trial.oracle->expect(trial.specs[2], *trial.inputs, Execution{}, false, indices, there);
  make_gemm_oracle(problem)->expect(trial.specs[2], *trial.inputs, Execution{}, false, indices,
                                    here);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(here[i].value, 200 * 0x1p-110);
    EXPECT_GT(here[i].max_bound, here[i].value);
    EXPECT_DOUBLE_EQ(here[i].max_bound, there[i].max_bound);
    EXPECT_DOUBLE_EQ(here[i].rms_bound, there[i].rms_bound);
  }
}

TEST(Prover, IsNotBelievedWhereItsConvolutionsDifferFromTheHosts) {
  ONLY_ON_THE_FAKE_GPU();
  const ConvProblem right(parse_conv("mb2ic6ih9oc4oh5kh3sh2ph1"), ConvDirection::forward,
                          Precision::fp16),
      wrong(parse_conv("mb2ic6ih9oc4oh9kh3ph1"), ConvDirection::forward, Precision::fp16);
  expect_same_sums(right, false);
  const LostThreads lost("PartOfSum");
  EXPECT_THROW(expect_same_sums(wrong, false), CaseError);
  // Nor where it makes the inputs that it has read before.
  EXPECT_THROW(expect_same_sums(right, false, false), CaseError);
  EXPECT_THROW(expect_same_sums(GemmProblem(parse_gemm("m9n8k7"), Precision::fp16), false),
               CaseError);
}

}  // namespace test_prover_products
}  // namespace assay
