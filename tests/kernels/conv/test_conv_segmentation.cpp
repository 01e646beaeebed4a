// The convolutions of networks for segmentation: dilated ones, and transposed ones (bwd_data),
// whose output has twice the extent of their input. Every backend equals the oracle.

#include "conv_bench.hpp"
#include "kernels/conv/inside.hpp"

namespace assay {
namespace test_conv_segmentation {

using namespace conv_test;

/// Filters dilated by `rate` with as much padding: the output has the size of the input.
std::string dilated(int ic, int oc, int rate, const std::string& plane = "ih12iw18") {
  const std::string by = std::to_string(rate - 1), pad = std::to_string(rate);
  return "mb2ic" + std::to_string(ic) + plane + "oc" + std::to_string(oc) + "kh3kw3dh" + by + "dw" +
         by + "ph" + pad + "pw" + pad;
}

/// The layer leads from a plane of height x width to one of twice the extent, whose last row and
/// column only one tap reaches.
std::string transposed(int ic, int oc, int height, int width) {
  return "mb2ic" + std::to_string(oc) + "ih" + std::to_string(2 * height) + "iw" +
         std::to_string(2 * width) + "oc" + std::to_string(ic) + "oh" + std::to_string(height) +
         "ow" + std::to_string(width) + "kh3kw3sh2sw2ph1pw1";
}

const std::vector<std::string>& problems() {
  static const std::vector<std::string> all{
      dilated(24, 40, 2),     dilated(16, 33, 4),       dilated(48, 16, 12),
      dilated(20, 16, 24),    dilated(32, 16, 36),      dilated(17, 16, 12, "ih25iw40"),
      dilated(3, 16, 2),      transposed(40, 24, 6, 9), transposed(16, 32, 5, 7),
      transposed(3, 16, 4, 4)};
  return all;
}

/// The cases that a backend computed.
int verify_all(const std::string& backend, const std::vector<const char*>& layouts,
               const std::vector<Precision>& precisions) {
  Bench bench(backend);
  if (!bench.available()) return -1;
  int ran = 0;
  for (const std::string& text : problems())
    for (const ConvDirection direction : directions)
      for (const Precision precision : precisions)
        for (const char* layout : layouts) {
          bench.use_threads(1 + ran % 2);
          const ConvProblem problem(parse_conv(text), direction, precision);
          if (!bench.make(problem, "auto", layout)) {
            EXPECT_FALSE(bench.reason().empty());
            continue;
          }
          verify(bench, problem, 7);
          if (testing::Test::HasFatalFailure()) return ran;
          ++ran;
        }
  return ran;
}

TEST(SegmentationConv, ReferenceEqualsTheOracle) {
  EXPECT_EQ(verify_all("reference", {"any"}, {Precision::fp32, Precision::bf16}), 10 * 3 * 2);
}

TEST(SegmentationConv, NativeEqualsTheOracle) {
  EXPECT_EQ(verify_all("native", {"any", "nhwc", plain_weights_layout},
                       {Precision::fp32, Precision::bf16, Precision::fp16}),
            10 * 3 * 3 * 3);
}

TEST(SegmentationConv, OneDnnEqualsTheOracle) {
  const int ran = verify_all("onednn", {"any", "nchw", plain_weights_layout}, {Precision::fp32});
  if (ran < 0) GTEST_SKIP() << "onednn is not built";
  EXPECT_EQ(ran, 10 * 3 * 3);
}

/// A tap that reads padding alone has no part in a result, and none in the work: a row that counts
/// it could be faster than the machine can be.
TEST(SegmentationConv, OperationsInsideAreCounted) {
  const auto inside = [](const std::string& text) {
    const ConvProblem problem(parse_conv(text), ConvDirection::forward, Precision::fp32);
    double products = 0;
    for_each_product(problem.shape(), [&](auto, auto, auto) { ++products; });
    const double flops = flops_inside(problem);
    EXPECT_EQ(flops, 2 * products < problem.flops() / 2 ? 2 * products : 0) << text;
    return flops / problem.flops();
  };
  EXPECT_EQ(inside(dilated(4, 3, 36)), 1.0 / 9);
  EXPECT_EQ(inside(dilated(4, 3, 24)), 1.0 / 9);
  EXPECT_LT(inside(dilated(4, 3, 12)), 0.25);
  EXPECT_EQ(inside(dilated(4, 3, 2)), 0);
  EXPECT_EQ(inside("mb1ic3ih9oc4kh3ph1"), 0);
  Bench bench("native");
  ASSERT_TRUE(bench.available());
  const ConvProblem wide(parse_conv(dilated(16, 16, 36)), ConvDirection::bwd_weights,
                         Precision::fp32);
  ASSERT_TRUE(bench.make(wide));
  EXPECT_EQ(bench.operation().execution().algorithmic_flops, wide.flops() / 9);
}

}  // namespace test_conv_segmentation
}  // namespace assay
