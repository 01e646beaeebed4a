// The oracle of bilinear resizing: by hand, by PyTorch's examples, and as a transpose.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/resize/formula_items.hpp"
#include "kernels/resize/problem.hpp"

namespace assay {
namespace test_resize_oracle {

std::vector<Expected> expect(const ResizeProblem& problem, const Inputs& inputs,
                             const Execution& execution = {}) {
  const TensorSpec output = problem.tensors().back();
  std::vector<std::int64_t> indices(static_cast<std::size_t>(output.elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i);
  std::vector<Expected> expected(indices.size());
  make_resize_oracle(problem)->expect(output, inputs, execution, false, indices, expected);
  return expected;
}

std::vector<double> values_of(const std::vector<Expected>& expected) {
  std::vector<double> values;
  for (const Expected& element : expected) values.push_back(element.value);
  return values;
}

ResizeProblem problem(const char* text, ResizeCoordinates coordinates,
                      ResizeDirection direction = ResizeDirection::forward) {
  return {parse_resize(text), direction, coordinates, Precision::fp64};
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-5) << i;
}

/// The examples of torch.nn.Upsample(scale_factor=2, mode='bilinear'), as PyTorch 2 prints them
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.Upsample.html).
TEST(ResizeOracle, EqualsPyTorchsExamples) {
  const Inputs two{{"src", Values(std::vector<double>{1, 2, 3, 4})}};
  expect_near(
      values_of(expect(problem("mb1ic1ih2oh4", ResizeCoordinates::half_pixel), two)),
      {1.0, 1.25, 1.75, 2.0, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3.0, 3.25, 3.75, 4.0});
  expect_near(values_of(expect(problem("mb1ic1ih2oh4", ResizeCoordinates::aligned), two)),
              {1.0, 1.3333, 1.6667, 2.0, 1.6667, 2.0, 2.3333, 2.6667, 2.3333, 2.6667, 3.0, 3.3333,
               3.0, 3.3333, 3.6667, 4.0});
  const Inputs three{{"src", Values(std::vector<double>{1, 2, 0, 3, 4, 0, 0, 0, 0})}};
  const std::vector<double> half =
      values_of(expect(problem("mb1ic1ih3oh6", ResizeCoordinates::half_pixel), three));
  expect_near({half.begin(), half.begin() + 12},
              {1.0, 1.25, 1.75, 1.5, 0.5, 0.0, 1.5, 1.75, 2.25, 1.875, 0.625, 0.0});
  const std::vector<double> aligned =
      values_of(expect(problem("mb1ic1ih3oh6", ResizeCoordinates::aligned), three));
  expect_near({aligned.begin(), aligned.begin() + 12},
              {1.0, 1.4, 1.8, 1.6, 0.8, 0.0, 1.8, 2.2, 2.6, 2.24, 1.12, 0.0});
}

TEST(ResizeOracle, BroadcastsOnePixelAndAddsItsGradients) {
  for (const auto coordinates : {ResizeCoordinates::half_pixel, ResizeCoordinates::aligned}) {
    EXPECT_EQ(values_of(expect(problem("mb1ic2ih1oh2ow3", coordinates),
                               {{"src", Values(std::vector<double>{5, -3})}})),
              (std::vector<double>{5, 5, 5, 5, 5, 5, -3, -3, -3, -3, -3, -3}));
    EXPECT_EQ(values_of(expect(
                  problem("mb1ic2ih1oh2ow3", coordinates, ResizeDirection::backward),
                  {{"diff_dst", Values(std::vector<double>{1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1})}})),
              (std::vector<double>{21, 6}));
  }
}

/// <forward(x), g> = <x, backward(g)>, of shapes that grow and shrink.
TEST(ResizeOracle, BackwardIsTheTranspose) {
  for (const char* text : {"mb1ic2ih3iw5oh7ow4", "mb1ic1ih9oh2", "mb1ic1ih4oh4", "mb2ic1ih2oh1ow9",
                           "mb1ic1ih5iw1oh20ow3", "mb1ic1ih6iw7oh5ow29"})
    for (const auto coordinates : {ResizeCoordinates::half_pixel, ResizeCoordinates::aligned}) {
      const Values x(Values::Kind::mantissa, 3, "src", DataType::fp64, 0),
          g(Values::Kind::mantissa, 3, "diff_dst", DataType::fp64, 0);
      const std::vector<double> forward =
                                    values_of(expect(problem(text, coordinates), {{"src", x}})),
                                backward = values_of(
                                    expect(problem(text, coordinates, ResizeDirection::backward),
                                           {{"diff_dst", g}}));
      double left = 0, right = 0;
      for (std::size_t i = 0; i < forward.size(); ++i)
        left += forward[i] * g(static_cast<std::int64_t>(i));
      for (std::size_t i = 0; i < backward.size(); ++i)
        right += backward[i] * x(static_cast<std::int64_t>(i));
      EXPECT_NEAR(left, right, 1e-12) << text;
    }
}

/// A claim of computed coordinates widens bounds by what it explains, and no further.
TEST(ResizeOracle, ComputedCoordinatesWidenBoundsALittle) {
  const ResizeProblem wide(parse_resize("mb1ic1ih24oh96"), ResizeDirection::forward,
                           ResizeCoordinates::half_pixel, Precision::fp32);
  const Inputs inputs{{"src", Values(Values::Kind::mantissa, 3, "src", DataType::fp32, 0)}};
  Execution computed, boastful;
  computed.numbers[coordinate_roundings] = 3;
  boastful.numbers[coordinate_roundings] = 1e9;
  const std::vector<Expected> strict = expect(wide, inputs),
                              claimed = expect(wide, inputs, computed),
                              boasted = expect(wide, inputs, boastful);
  for (std::size_t i = 0; i < strict.size(); ++i) {
    EXPECT_LT(strict[i].max_bound, 1e-6);
    EXPECT_GT(claimed[i].max_bound, strict[i].max_bound);
    EXPECT_LT(claimed[i].max_bound, 4e-5);  // 25 pixels, 3 roundings, a few neighbours
    EXPECT_EQ(boasted[i].max_bound, claimed[i].max_bound);
  }
}

TEST(ResizeOracle, IntegersAreExactWhereWeightsAreShort) {
  const auto magnitude = [](const char* text, ResizeDirection direction, Precision precision,
                            bool computed = false) {
    Execution execution;
    execution.accumulate = "fp32";
    if (computed) execution.numbers[coordinate_roundings] = 3;
    return make_resize_oracle(ResizeProblem(parse_resize(text), direction,
                                            ResizeCoordinates::half_pixel, precision))
        ->exact_magnitude(execution);
  };
  EXPECT_EQ(magnitude("mb1ic1ih24oh48", ResizeDirection::forward, Precision::fp32), 1024);
  EXPECT_EQ(magnitude("mb1ic1ih24oh48", ResizeDirection::forward, Precision::bf16), 256);
  EXPECT_EQ(magnitude("mb1ic1ih24oh36", ResizeDirection::forward, Precision::fp32), 0);
  EXPECT_EQ(magnitude("mb1ic1ih1oh48ow72", ResizeDirection::forward, Precision::fp32), 1024);
  EXPECT_EQ(magnitude("mb1ic1ih1oh48ow72", ResizeDirection::forward, Precision::fp32, true), 0);
  EXPECT_EQ(magnitude("mb1ic1ih1oh48ow72", ResizeDirection::backward, Precision::fp16), 18);
}

/// Errors of coordinates that are smaller than a rounding of the weights.
TEST(ResizeOracle, SmallErrorsOfCoordinatesDoNotCancel) {
  resize::Resize::Sum sum;
  resize::Resize{}.add(sum, {0.3, 0x1p-60}, {0.7, 0x1p-62}, -2);
  EXPECT_DOUBLE_EQ(sum.more, 2 * (0.3 * 0x1p-62 + 0.7 * 0x1p-60));
}

}  // namespace test_resize_oracle
}  // namespace assay
