// The native backend's convolutions against the oracle.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "conv_bench.hpp"

namespace assay {
namespace {

using namespace conv_test;

constexpr Precision precisions[] = {Precision::fp32, Precision::bf16, Precision::fp16};

class NativeConv : public testing::Test {
 protected:
  void SetUp() override {
    // Left out of the build by choice: nothing to test. Built and unusable: a failure.
    if (bench_.reason().find("no plugin libassay_") != std::string::npos)
      GTEST_SKIP() << bench_.reason();
    ASSERT_TRUE(bench_.available()) << bench_.reason();
  }
  Bench bench_{"native"};
};

TEST_F(NativeConv, ImplicitGemmEqualsTheOracleOverRandomShapes) {
  std::mt19937 random(21);
  for (int i = 0; i < 60; ++i) {
    bench_.use_threads(1 + i % 3);
    const ConvShape shape = random_shape(random, false);
    for (ConvDirection direction : directions)
      for (Precision precision : precisions)
        for (const char* layout : {"any", "nhwc"}) {
          const ConvProblem problem(shape, direction, precision);
          ASSERT_TRUE(bench_.make(problem, "implicit_gemm", layout)) << bench_.reason();
          verify(bench_, problem, static_cast<std::uint64_t>(i));
          if (HasFatalFailure()) return;
        }
  }
}

TEST_F(NativeConv, ImplicitGemmOnTailsOfEveryBlock) {
  // Channels beside blocks of 16 and 32, groups of whole and of broken blocks, rows beside register
  // blocks of 6 and 14, planes wider than a window, windows of several channel blocks, padding
  // beyond the filter, taps that no output reads, and one pixel.
  for (const char* text :
       {"mb2ic3ih23oc27kh7sh2ph3", "mb3ic17ih7oc33kh3ph1", "mb1ic100ih9oc36kh1",
        "mb2ic48ih15oc48kh3ph1", "mb1ic5ih3iw300oc40kh3kw5ph1pw2", "g2mb2ic32ih12oc64kh3ph1",
        "g4mb2ic12ih9oc20kh3sh2ph1", "g16mb2ic16ih8oc16kh3ph1", "mb1ic8ih5oc8oh9kh3ph3",
        "mb1ic400ih7oc72kh3ph1", "mb1ic20ih14oc40kh3sh2ph1", "mb2ic16ih1oc16oh1kh3ph1",
        "mb1ic24ih11oc24kh3dh2ph3", "mb1ic4ih9oc4kh1sh3"})
    for (ConvDirection direction : directions)
      for (Precision precision : precisions)
        for (const char* layout : {"any", "nhwc"}) {
          bench_.use_threads(2);
          const ConvProblem problem(parse_conv(text), direction, precision);
          ASSERT_TRUE(bench_.make(problem, "implicit_gemm", layout)) << text << bench_.reason();
          verify(bench_, problem, 5);
          if (HasFatalFailure()) return;
        }
}

TEST_F(NativeConv, WinogradEqualsTheOracle) {
  // Outputs beside tiles of 2 and 4, channels beside blocks, more weights than tiles and the
  // reverse, padding of none, one side, and more than the filter.
  for (const char* text :
       {"mb2ic3ih9oc17kh3ph1", "mb1ic64ih14oc64kh3ph1", "mb3ic33ih7oc50kh3ph1", "mb1ic16ih3oc16kh3",
        "mb2ic20ih6iw11oc40kh3kw3ph0pw1", "mb1ic8ih12oc8oh15kh3ph4", "mb1ic100ih4oc200kh3ph1",
        "mb1ic16ih1oc16kh3ph1", "mb2ic16ih10oc16oh10kh3ph2", "mb4ic64ih28oc32kh3ph1"})
    for (ConvDirection direction : {ConvDirection::forward, ConvDirection::bwd_data})
      for (Precision precision : precisions)
        for (const char* layout : {"any", "nhwc"})
          for (const char* algorithm : {"winograd_2x2", "winograd_4x4"}) {
            bench_.use_threads(2);
            const ConvProblem problem(parse_conv(text), direction, precision);
            ASSERT_TRUE(bench_.make(problem, algorithm, layout)) << text << bench_.reason();
            verify(bench_, problem, 6);
            if (HasFatalFailure()) return;
          }
}

}  // namespace
}  // namespace assay
