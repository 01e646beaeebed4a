// The oracle of convolution on data that a tensor holds: of one sign, as behind a rectifier.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/conv/problem.hpp"

namespace assay {
namespace test_conv_stored {

Values magnitudes(const TensorSpec& spec, std::vector<double>& data) {
  data.resize(static_cast<std::size_t>(spec.elements()));
  Values(Values::Kind::mantissa, 5, spec.name, spec.type, 0).magnitudes().fill(0, data);
  return Values(data);
}

TEST(ConvOracle, JudgesStoredDataOfOneSign) {
  // Products of matrices: 300 channels at 6x6 pixels of 2 images, 4 outputs.
  const ConvProblem problem(parse_conv("mb2ic300ih6oc4oh6kh1"), ConvDirection::forward,
                            Precision::fp32);
  const std::vector<TensorSpec> specs = problem.tensors();
  std::vector<double> src, weights;
  const Inputs inputs{{"src", magnitudes(specs[0], src)},
                      {"weights", magnitudes(specs[1], weights)}};
  Execution execution;
  execution.algorithm = "direct";
  execution.accumulate = "fp32";
  std::vector<std::int64_t> indices(static_cast<std::size_t>(specs[2].elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  std::vector<Expected> expected(indices.size());
  make_conv_oracle(problem)->expect(specs[2], inputs, execution, false, indices, expected);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t pixel = i % 36, out = i / 36 % 4, image = i / 144;
    float sum = 0;
    for (std::size_t c = 0; c < 300; ++c)
      sum += static_cast<float>(src[(image * 300 + c) * 36 + pixel]) *
             static_cast<float>(weights[out * 300 + c]);
    EXPECT_LE(std::abs(static_cast<double>(sum) - expected[i].value), expected[i].max_bound);
    // A hundredth is far beyond what rounding may do.
    EXPECT_LT(expected[i].max_bound, 0.01 * expected[i].value);
  }
}

/// The rule is that of matrix products (GemmOracle): processors may read subnormal numbers as 0.
TEST(ConvOracle, BoundsPassSubnormalInputsThatBecomeZero) {
  constexpr std::int64_t channels = 64;
  for (const ConvDirection direction :
       {ConvDirection::forward, ConvDirection::bwd_data, ConvDirection::bwd_weights})
    for (const double scale : {1.0, 0x1p40}) {
      const ConvProblem problem(parse_conv("mb64ic64ih1oc64oh1kh1"), direction, Precision::bf16);
      const std::vector<TensorSpec> specs = problem.tensors();
      Inputs inputs;
      for (const std::size_t i : {0, 1})
        inputs.emplace(specs[i].name,
                       Values(std::vector<double>(static_cast<std::size_t>(specs[i].elements()),
                                                  i == 0 ? 0x1.8p-130 * scale : 0x1p4)));
      const std::vector<std::int64_t> indices{0, 77};
      std::vector<Expected> expected(2);
      make_conv_oracle(problem)->expect(specs[2], inputs, Execution{}, false, indices, expected);
      for (const Expected& of : expected) {
        EXPECT_EQ(of.value, channels * 0x1.8p-126 * scale);
        // 0 passes where the inputs are subnormal alone, and a hundredth more passes nowhere.
        EXPECT_EQ(of.value <= of.max_bound && of.value <= of.rms_bound, scale == 1.0);
        EXPECT_LT(of.max_bound, 1.01 * of.value + (channels + 2) * 0x1p-126);
      }
    }
}

}  // namespace test_conv_stored
}  // namespace assay
