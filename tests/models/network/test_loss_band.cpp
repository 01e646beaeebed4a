// The losses of known trainings.

#include "models/network/loss_band.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/result_fixture.hpp"

namespace assay {
namespace test_loss_band {

EpochResult epoch_of(std::int64_t epoch, double training, double validation) {
  EpochResult result;
  result.epoch = epoch;
  result.training_loss = training;
  result.images_per_s = 10;
  result.evaluation = Evaluation{};
  result.evaluation->loss = validation;
  return result;
}

TEST(LossBand, IsOfLogarithms) {
  // The values e^-1, e^0 and e^1 have mean 0, deviation 1.
  const auto [low, high] = compute_band({std::exp(-1), 1, std::exp(1)});
  EXPECT_NEAR(std::log(high), 6 * std::sqrt(1 + 1.0 / 3), 1e-12);
  EXPECT_NEAR(std::log(low), -6 * std::sqrt(1 + 1.0 / 3), 1e-12);
}

TEST(LossBand, TheFirstLossOutsideIsNamed) {
  const LossBand band{"mine", 7, {{1, 2}, {0.5, 1}}, {{3, 4}, {2, 3}}};
  const auto said = [&](std::vector<EpochResult> epochs) { return outside(band, epochs); };
  EXPECT_EQ(said({epoch_of(1, 1, 4), epoch_of(2, 1, 2)}), "");
  EXPECT_EQ(
      said({epoch_of(1, 1, 4), epoch_of(2, 1.01, 2)}),
      "the loss of training is 1.01 after epoch 2, outside 0.5 to 1, the band of mine (7 seeds)");
  EXPECT_EQ(
      said({epoch_of(1, 0.99, 4), epoch_of(2, 2, 2)}),
      "the loss of training is 0.99 after epoch 1, outside 1 to 2, the band of mine (7 seeds)");
  EXPECT_EQ(
      said({epoch_of(1, 1, 4), epoch_of(2, 1, 3.1)}),
      "the loss of validation is 3.1 after epoch 2, outside 2 to 3, the band of mine (7 seeds)");
  // A continued training begins later; none leaves out an epoch, or has more than its band.
  EXPECT_NE(said({epoch_of(2, 2, 2)}), "");
  EXPECT_EQ(said({epoch_of(2, 1, 2)}), "");
  for (const std::int64_t second : {1, 3})
    EXPECT_SAYS(
        said({epoch_of(second == 1 ? 1 : 2, 1, second == 1 ? 4 : 2), epoch_of(second, 1, 4)}),
        "is none of the 2 epochs of the band of mine, or not the next one");
  // An epoch without validation has no such loss.
  EpochResult alone = epoch_of(1, 1, 9);
  alone.evaluation.reset();
  EXPECT_EQ(said({alone}), "");
  // One that continued after its last step has no loss of training.
  EpochResult validated = epoch_of(2, 0, 2);
  validated.images_per_s = 0;
  EXPECT_EQ(said({validated}), "");
  validated.evaluation->loss = 3.1;
  EXPECT_NE(said({validated}), "");
}

}  // namespace test_loss_band
}  // namespace assay
