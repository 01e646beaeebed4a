// Numbers and names by direction: Winograd's operations by hand, names and their inverse.

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "kernels/conv/problem.hpp"

namespace assay {
namespace test_conv_directions {

double flops(const char* shape, ConvDirection direction, int tile) {
  return count_winograd_flops(ConvProblem(parse_conv(shape), direction, Precision::fp32), tile);
}

TEST(WinogradFlops, CountedByHand) {
  // Without padding 6 x 6 becomes 4 x 4: one tile of F(4, 3), 6 x 6 products for each of 2*3*5
  // triples of image, input and output channel, each with its addition.
  const char* valid = "mb2ic3ih6oc5oh4kh3";
  EXPECT_EQ(flops(valid, ConvDirection::forward, 4), 2.0 * 36 * 30);
  // diff_src is 6 x 6: two tiles of four a side.
  EXPECT_EQ(flops(valid, ConvDirection::bwd_data, 4), 2.0 * 4 * 36 * 30);
  // One tile of diff_dst, as forward.
  EXPECT_EQ(flops(valid, ConvDirection::bwd_weights, 4), 2.0 * 36 * 30);
  // F(2, 3): 4 x 4 products; 2 x 2 and 3 x 3 tiles.
  EXPECT_EQ(flops(valid, ConvDirection::forward, 2), 2.0 * 4 * 16 * 30);
  EXPECT_EQ(flops(valid, ConvDirection::bwd_data, 2), 2.0 * 9 * 16 * 30);
}

TEST(WinogradFlops, RectanglesGroupsAndPartialTiles) {
  // 5 x 9 outputs are 2 x 3 tiles of four; taps 3 x 1: (4+2) x (4+0) products; a pair of channels
  // is in one group: 4 * (6/2).
  EXPECT_EQ(flops("g2mb1ic6ih7iw9oc4oh5ow9kh3kw1", ConvDirection::forward, 4),
            2.0 * 2 * 3 * 6 * 4 * 4 * 3);
}

TEST(WinogradFlops, LessThanTheDirectSum) {
  const ConvProblem problem(parse_conv("mb1ic64ih56oc64kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  EXPECT_EQ(problem.flops() / count_winograd_flops(problem, 4), 4.0);        // 16 * 9 / 36
  EXPECT_EQ(problem.flops() / count_winograd_flops(problem, 2), 36.0 / 16);  // 4 * 9 / 16
}

TEST(WinogradFlops, UnknownIsZero) {
  const char* same = "mb1ic8ih8oc8kh3ph1";
  for (const int tile : {0, -1}) EXPECT_EQ(flops(same, ConvDirection::forward, tile), 0);
  EXPECT_EQ(flops("mb1ic8ih8oc8kh3sh2ph1", ConvDirection::forward, 4), 0);
  EXPECT_EQ(flops("mb1ic8ih8oc8kh3dh1ph2", ConvDirection::forward, 4), 0);
  EXPECT_EQ(flops("mb1ic8id8oc8kd3pd1", ConvDirection::forward, 4), 0);
}

TEST(ConvDirections, NamesAndBack) {
  const std::vector<std::string> names{"forward", "bwd_data", "bwd_weights"};
  EXPECT_EQ(list_names<ConvDirection>(), names);
  for (const std::string& text : names) EXPECT_EQ(name(parse_name<ConvDirection>(text)), text);
  EXPECT_EQ(parse_name<ConvDirection>("bwd_data"), ConvDirection::bwd_data);
  EXPECT_THROW(parse_name<ConvDirection>("backward"), InputError);
}

TEST(ConvDirections, IntegersHaveNoGradient) {
  const ConvShape shape = parse_conv("mb1ic8ih8oc8kh3ph1");
  using enum ConvDirection;
  EXPECT_FALSE(why_not_precision({shape, forward, Precision::int8}));
  EXPECT_FALSE(why_not_precision({shape, bwd_data, Precision::fp32}));
  EXPECT_TRUE(why_not_precision({shape, forward, Precision::bf16_fp32}));
  EXPECT_TRUE(why_not_precision({shape, forward, Precision::fp16_fp32}));
  EXPECT_TRUE(why_not_precision({shape, bwd_data, Precision::bf16_fp32}));
  EXPECT_FALSE(why_not_precision({shape, bwd_weights, Precision::bf16_fp32}));
  EXPECT_FALSE(why_not_precision({shape, bwd_weights, Precision::fp16_fp32}));
  EXPECT_TRUE(why_not_precision({shape, bwd_data, Precision::int8}));
  EXPECT_TRUE(why_not_precision({shape, bwd_weights, Precision::int8}));
}

TEST(ConvDirections, WideGradientsOfNarrowActivations) {
  const std::vector<TensorSpec> specs =
      ConvProblem(parse_conv("mb1ic8ih8oc8kh3ph1"), ConvDirection::bwd_weights,
                  Precision::bf16_fp32)
          .tensors();
  EXPECT_EQ(specs[0].type, DataType::bf16);
  EXPECT_EQ(specs[1].type, DataType::bf16);
  EXPECT_EQ(specs[2].type, DataType::fp32);
  EXPECT_EQ(specs[2].bytes, 8U * 8 * 9 * 4);
}

}  // namespace test_conv_directions
}  // namespace assay
