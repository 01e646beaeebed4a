// The loss of pixels: the oracle by hand and against mistakes, and the backends against the oracle.

#include <cmath>

#include "core/base/error.hpp"
#include "kernels/pixel_loss/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_pixel_loss {

using namespace kernel_test;

constexpr Precision precisions[] = {Precision::fp64, Precision::fp32, Precision::bf16,
                                    Precision::fp16};
constexpr PixelLossPass passes[] = {PixelLossPass::training, PixelLossPass::validation};

std::vector<Expected> expect(const PixelLossProblem& problem, const std::string& output,
                             const Inputs& inputs) {
  const std::vector<TensorSpec> specs = problem.tensors();
  const TensorSpec& spec = *std::ranges::find(specs, output, &TensorSpec::name);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(spec.elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  std::vector<Expected> expected(indices.size());
  make_pixel_loss_oracle(problem)->expect(spec, inputs, {}, false, indices, expected);
  return expected;
}

/// Two samples of two pixels; the second has two equal logits, of which the first counts.
TEST(PixelLossOracle, ByHand) {
  const PixelLossProblem problem({2, 2, 1, 2}, PixelLossPass::training, Precision::fp64);
  const Inputs inputs{{"logits", Values(std::vector<double>{0, 1, std::log(3.0), 1,  //
                                                            2, 0, 0, std::log(7.0)})},
                      {"labels", Values(std::vector<double>{1, 1, 0, 0})},
                      {"class_weights", Values(std::vector<double>{0.5, 4})},
                      {"scale", Values(std::vector<double>{8})}};
  const std::vector<Expected> losses = expect(problem, "losses", inputs);
  const double e2 = std::exp(2.0);
  EXPECT_NEAR(losses[0].value, 4 * std::log(4.0 / 3) + 4 * std::log(2.0), 1e-14);
  EXPECT_NEAR(losses[1].value, 0.5 * std::log(1 + 1 / e2) + 0.5 * std::log(8.0), 1e-14);
  const std::vector<Expected> confusion = expect(problem, "confusion", inputs);
  const double counts[] = {0, 0, 1, 1, 1, 1, 0, 0};  // of each sample by label and class
  ASSERT_EQ(confusion.size(), 8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(confusion[i].value, counts[i]) << i;
  EXPECT_EQ(confusion[0].max_bound, 0);
  const std::vector<Expected> diff = expect(problem, "diff_logits", inputs);
  const double by = 8.0 / 2, p = e2 / (e2 + 1);
  const double gradients[] = {by * 4 * 0.25,      by * 4 * 0.5,       -by * 4 * 0.25,
                              -by * 4 * 0.5,      by * 0.5 * (p - 1), -by * 0.5 * 0.875,
                              by * 0.5 * (1 - p), by * 0.5 * 0.875};
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(diff[i].value, gradients[i], 1e-14) << i;
}

/// The bounds are narrow, and a weight of the next class is outside of them.
TEST(PixelLossOracle, BoundsAreNarrow) {
  const PixelLossProblem problem({2, 3, 9, 11}, PixelLossPass::training, Precision::fp32);
  Inputs inputs;
  for (const TensorSpec& spec : problem.tensors())
    if (spec.role == Role::input) {
      const auto oracle = make_pixel_loss_oracle(problem);
      const Values values(Values::Kind::mantissa, 5, spec.name, spec.type,
                          oracle->full_magnitude(spec));
      inputs.emplace(spec.name, oracle->nonnegative(spec) ? values.magnitudes() : values);
    }
  Inputs shifted = inputs;
  std::vector<double> weights(3), next(3);
  inputs.find("class_weights")->second.fill(0, weights);
  for (std::size_t c = 0; c < 3; ++c) next[c] = weights[(c + 1) % 3];
  shifted.erase("class_weights");
  shifted.emplace("class_weights", Values(std::move(next)));
  for (const char* output : {"losses", "diff_logits"}) {
    const std::vector<Expected> right = expect(problem, output, inputs),
                                wrong = expect(problem, output, shifted);
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_LT(right[i].max_bound, output == std::string("losses") ? 1e-5 * right[i].value : 4e-6);
      EXPECT_GT(std::abs(right[i].value - wrong[i].value), 10 * right[i].max_bound) << output << i;
    }
  }
}

TEST(PixelLossBackends, EqualTheOracle) {
  for (const char* backend : {"reference", "native"})
    for (const PixelLossShape& shape :
         {PixelLossShape{1, 2, 1, 1}, PixelLossShape{2, 3, 48, 72}, PixelLossShape{3, 64, 5, 7},
          PixelLossShape{1, 3, 70, 131}, PixelLossShape{5, 17, 8, 8}})
      for (const PixelLossPass pass : passes)
        for (const Precision precision : precisions)
          for (const int threads : {1, 3}) {
            const PixelLossProblem problem(shape, pass, precision);
            ASSERT_TRUE(verify(problem, make_pixel_loss_oracle(problem), backend, threads))
                << backend << problem.canonical();
            ASSERT_FALSE(HasFailure()) << backend << problem.canonical();
          }
}

TEST(PixelLossProblem, RefusesWhatIsNone) {
  EXPECT_EQ(PixelLossProblem({2, 3, 96, 144}, PixelLossPass::training, Precision::fp32).canonical(),
            "mb2c3ih96iw144");
  for (const PixelLossShape& wrong :
       {PixelLossShape{0, 1, 1, 1}, PixelLossShape{1, 0, 1, 1}, PixelLossShape{1, 65, 1, 1},
        PixelLossShape{1, 2, 0, 1}, PixelLossShape{2, 2, 1 << 15, 1 << 15}})
    EXPECT_THROW(PixelLossProblem(wrong, PixelLossPass::training, Precision::fp32), InputError);
}

}  // namespace test_pixel_loss
}  // namespace assay
