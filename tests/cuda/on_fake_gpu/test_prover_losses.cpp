// References of losses that the GPU computes beside those of the host.

#include <algorithm>

#include "kernels/loss/problem.hpp"
#include "kernels/pixel_loss/problem.hpp"
#include "kernels/squared_error/problem.hpp"
#include "prover_trial.hpp"
#include "trial.hpp"

namespace assay {
namespace test_prover_losses {

using namespace prover_trial;

std::unique_ptr<Oracle> oracle_of(const LossProblem& p) { return make_loss_oracle(p); }
std::unique_ptr<Oracle> oracle_of(const PixelLossProblem& p) { return make_pixel_loss_oracle(p); }
std::unique_ptr<Oracle> oracle_of(const SquaredErrorProblem& p) {
  return make_squared_error_oracle(p);
}

template <class P>
void expect_same(const P& problem) {
  static std::uint64_t seed = 1000;  // memory may hold the sums of equal inputs
  for (const bool stored : {false, true}) {
    expect_same_verdicts(oracle_of(problem), problem.tensors(), false, stored);
    const Trial trial(oracle_of(problem), problem.tensors(), false, stored, ++seed);
    expect_same_values(trial, *oracle_of(problem), Execution{});
    ASSERT_FALSE(testing::Test::HasFailure())
        << problem.canonical() << name(problem.precision()) << name(problem.pass()) << stored;
  }
}

TEST(Prover, JudgesLossesAsTheHost) {
  for (const Precision precision : precisions)
    for (const LossPass pass : {LossPass::training, LossPass::validation})
      for (const LossShape& shape :
           {LossShape{1, 2, 0, true}, LossShape{5, 130, 0.1, true}, LossShape{40, 7, 0, false}})
        expect_same(LossProblem(shape, pass, precision));
}

TEST(Prover, JudgesLossesOfPixelsAsTheHost) {
  for (const Precision precision : precisions)
    for (const PixelLossPass pass : {PixelLossPass::training, PixelLossPass::validation})
      for (const PixelLossShape& shape : {PixelLossShape{1, 2, 1, 1}, PixelLossShape{2, 3, 30, 40}})
        expect_same(PixelLossProblem(shape, pass, precision));
}

TEST(Prover, JudgesSquaredErrorsAsTheHost) {
  for (const Precision precision : precisions)
    for (const SquaredErrorPass pass : {SquaredErrorPass::training, SquaredErrorPass::validation})
      for (const SquaredErrorShape& shape : {SquaredErrorShape{1, 1}, SquaredErrorShape{3, 1500}})
        expect_same(SquaredErrorProblem(shape, pass, precision));
}

/// Equal logits, of which the first is the largest, and equal numbers, which have no correlation.
TEST(Prover, KnowsEqualNumbersAsTheHost) {
  const LossProblem loss({6, 5, 0.1, false}, LossPass::training, Precision::fp32);
  const PixelLossProblem pixels({2, 3, 5, 4}, PixelLossPass::training, Precision::fp32);
  const SquaredErrorProblem squares({2, 600}, SquaredErrorPass::training, Precision::fp32);
  const auto expect = [](const auto& problem, const char* equal) {
    Trial trial(oracle_of(problem), problem.tensors(), false, true, 77);
    for (const TensorSpec& spec : trial.specs) {
      if (spec.name != equal) continue;
      const auto tensor = gpu().allocate(spec);
      gpu().fill(*tensor, 0.3);
      trial.inputs->insert_or_assign(spec.name,
                                     Values(std::make_shared<const TensorValues>(gpu(), *tensor)));
    }
    expect_same_values(trial, *oracle_of(problem), Execution{});
  };
  expect(loss, "logits");
  expect(pixels, "logits");
  expect(squares, "targets");
}

/// A label that is no class has no loss: neither the host nor the GPU expects anything of it.
TEST(Prover, RefusesLabelsThatAreNoClassAsTheHost) {
  const LossProblem loss({6, 5, 0, true}, LossPass::training, Precision::fp32);
  const PixelLossProblem pixels({2, 3, 5, 4}, PixelLossPass::training, Precision::fp32);
  const auto expect = [](const auto& problem) {
    Trial trial(oracle_of(problem), problem.tensors(), false, true, 78);
    for (const TensorSpec& spec : trial.specs) {
      if (spec.name != "labels") continue;
      const auto tensor = gpu().allocate(spec);
      gpu().put(*tensor, [](std::int64_t first, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i)
          out[i] = first + static_cast<std::int64_t>(i) == 4 ? 9 : 1;
      });
      trial.inputs->insert_or_assign(spec.name,
                                     Values(std::make_shared<const TensorValues>(gpu(), *tensor)));
    }
    const auto output = std::ranges::find_if(trial.specs, is_output);
    std::vector<Expected> expected(static_cast<std::size_t>(output->elements()));
    for (const bool there : {true, false})
      EXPECT_ANY_THROW(expect_block(there ? *trial.oracle : *oracle_of(problem), *output,
                                    *trial.inputs, Execution{}, false, 0, expected))
          << problem.canonical() << there;
  };
  expect(loss);
  expect(pixels);
}

/// `item` computes nothing of a first element.
template <class P>
void expect_not_believed(const P& problem, const char* item) {
  static std::uint64_t seed = 2000;
  const Trial trial(oracle_of(problem), problem.tensors(), false, true, ++seed);
  const LostThreads lost(item);
  bool found = false;
  for (const TensorSpec& spec : trial.specs) {
    if (!is_output(spec)) continue;
    const auto tensor = gpu().allocate(spec);
    gpu().fill(*tensor, 0);
    try {
      check_output(gpu(), *tensor, trial.expectation(spec, true));
    } catch (const CaseError& error) {
      found = std::string(error.what()).find("Nothing that this GPU computes") != std::string::npos;
    }
  }
  EXPECT_TRUE(found) << problem.canonical() << item;
}

TEST(Prover, IsNotBelievedWhereItsLossesDifferFromTheHosts) {
  ONLY_ON_THE_FAKE_GPU();
  std::int64_t n = 20;  // of a shape that is not believed yet
  for (const char* item : {"RowParts", "GradientSums", "DiffLogits"})
    expect_not_believed(LossProblem({++n, 9, 0, true}, LossPass::training, Precision::fp32), item);
  for (const char* item : {"PartOfSum", "DiffLogits"})
    expect_not_believed(PixelLossProblem({1, 3, ++n, 9}, PixelLossPass::training, Precision::fp32),
                        item);
  for (const char* item : {"PartOfSum", "DiffOutputs"})
    expect_not_believed(SquaredErrorProblem({2, ++n}, SquaredErrorPass::training, Precision::fp32),
                        item);
}

/// Kernels that do not compute first elements are found by what the GPU expects.
TEST(Prover, FindsLossesThatAreWrong) {
  ONLY_ON_THE_FAKE_GPU();
  const auto expect_wrong = [](const auto& problem, const char* item) {
    const auto made = kernel_test::prepare(problem, oracle_of(problem), "cuda", 1);
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Workload>>(made));
    const LostThreads lost(item);
    EXPECT_FALSE(std::get<std::unique_ptr<Workload>>(made)->verify_before().passed)
        << problem.canonical() << item;
  };
  for (const char* item : {"LossOfSample", "LossGradients"})
    expect_wrong(LossProblem({40, 9, 0, true}, LossPass::training, Precision::fp32), item);
  expect_wrong(PixelLossProblem({2, 3, 50, 9}, PixelLossPass::training, Precision::fp32),
               "LossOfPixels");
  for (const char* item : {"SquaredErrorMeans", "SquaredErrorSums", "SquaredErrorResults"})
    expect_wrong(SquaredErrorProblem({5, 700}, SquaredErrorPass::training, Precision::fp32), item);
}

/// Once it is believed, a network's logits do not cross to the host.
TEST(Prover, LeavesWhatLossesReadOnTheGpu) {
  const LossProblem loss({64, 900, 0, true}, LossPass::training, Precision::fp32);
  const PixelLossProblem pixels({2, 3, 120, 100}, PixelLossPass::training, Precision::fp32);
  const SquaredErrorProblem squares({3, 20000}, SquaredErrorPass::training, Precision::fp32);
  const auto crossed_by = [](const auto& problem, std::uint64_t seed) {
    const Trial trial(oracle_of(problem), problem.tensors(), false, true, seed);
    const std::size_t before = crossed();
    for (const TensorSpec& spec : trial.specs) {
      if (!is_output(spec)) continue;
      const auto tensor = gpu().allocate(spec);
      gpu().fill(*tensor, 0);
      check_output(gpu(), *tensor, trial.expectation(spec, true));
    }
    return crossed() - before;
  };
  for (const std::uint64_t seed : {1, 2}) {
    const std::size_t of_loss = crossed_by(loss, seed), of_pixels = crossed_by(pixels, seed),
                      of_squares = crossed_by(squares, seed);
    if (seed == 1 || fake_gpu::counter == nullptr) continue;
    EXPECT_LT(of_loss, 2u * 64u * 900u);  // bytes: half of the logits
    EXPECT_LT(of_pixels, 2u * 2u * 3u * 120u * 100u);
    EXPECT_LT(of_squares, 2u * 3u * 20000u);
  }
}

}  // namespace test_prover_losses
}  // namespace assay
