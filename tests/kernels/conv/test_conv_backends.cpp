// The convolution backends against the oracle, through the plugins as the programs load them.

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <cstdlib>
#include <fstream>

#include "conv_bench.hpp"

namespace assay {
namespace test_conv_backends {

using namespace conv_test;

TEST(ReferenceConv, EqualsTheOracleOverRandomShapes) {
  Bench bench("reference");
  ASSERT_TRUE(bench.available()) << bench.reason();
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    bench.use_threads(1 + i % 3);
    const ConvShape shape = random_shape(random);
    for (ConvDirection direction : directions)
      for (Precision precision :
           {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16, Precision::int8,
            Precision::bf16_fp32, Precision::fp16_fp32}) {
        const ConvProblem problem(shape, direction, precision);
        if (!has(direction, precision)) {
          EXPECT_FALSE(bench.make(problem));
          continue;
        }
        ASSERT_TRUE(bench.make(problem)) << bench.reason();
        verify(bench, problem, static_cast<std::uint64_t>(i));
        if (HasFatalFailure()) return;
      }
  }
}

/// A gradient that was rounded to 16 bits on its way is none of fp32.
TEST(MixedConv, ResultsOfSixteenBitsFail) {
  Bench bench("reference");
  ASSERT_TRUE(bench.available()) << bench.reason();
  for (const Precision precision : {Precision::bf16_fp32, Precision::fp16_fp32}) {
    const ConvProblem problem(parse_conv("mb2ic8ih7oc8kh3ph1"), ConvDirection::bwd_weights,
                              precision);
    ASSERT_TRUE(bench.make(problem)) << bench.reason();
    const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63, 3);
    const std::vector<double> got = bench.run(inputs);
    const std::vector<Expected> want =
        expect(problem, inputs, bench.operation().execution(), false, all_of(problem.tensors()[2]));
    double whole = 0, rounded = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double bound = want[i].max_bound;
      whole = std::max(whole, std::abs(got[i] - want[i].value) / bound);
      const double narrow = round_to(storage(precision), got[i]);
      rounded = std::max(rounded, std::abs(narrow - want[i].value) / bound);
    }
    EXPECT_LE(whole, 1);
    EXPECT_GT(rounded, 100);
  }
}

TEST(ReferenceConv, SaysWhatItIs) {
  Bench bench("reference");
  ASSERT_TRUE(bench.available()) << bench.reason();
  const ConvProblem problem(parse_conv("mb1ic4ih8oc4kh3"), ConvDirection::forward, Precision::bf16);
  ASSERT_TRUE(bench.make(problem, "direct"));
  const Execution execution = bench.operation().execution();
  EXPECT_EQ(execution.algorithm, "direct");
  EXPECT_EQ(execution.storage, "bf16");
  EXPECT_EQ(execution.compute, "fp64");
  EXPECT_EQ(execution.accumulate, "fp64");
  EXPECT_GT(execution.workspace_bytes, 0u);
  EXPECT_FALSE(bench.make(problem, "winograd"));
  EXPECT_NE(bench.reason().find("winograd"), std::string::npos);
  EXPECT_FALSE(bench.make(problem, "direct", "nhwc"));
  bench.options().settings["device"] = "gpu";
  EXPECT_FALSE(bench.make(problem, "direct"));
  EXPECT_EQ(bench.backend().algorithms("conv"), std::vector<std::string>{"direct"});
  EXPECT_TRUE(bench.backend().algorithms("nothing").empty());
}

TEST(ReferenceConv, BlocksOfChannelsAndLargerPlanes) {
  Bench bench("reference");
  ASSERT_TRUE(bench.available()) << bench.reason();
  for (const char* text :
       {"mb2ic37ih13oc41kh3ph1", "g2mb1ic34ih9oc70kh1", "mb1ic2ih300oc3kh3ph1sh2"})
    for (ConvDirection direction : directions) {
      const ConvProblem problem(parse_conv(text), direction, Precision::fp32);
      ASSERT_TRUE(bench.make(problem)) << bench.reason();
      verify(bench, problem, 1);
    }
}

/// True if some tap reads padding alone. There oneDNN 3.2's jit_bf16 bwd_weights returns what it
/// finds in uninitialised scratch memory (seen with NaN in a user's scratchpad): a row is then
/// rightly `incorrect`, and no test can rely on it.
bool has_idle_tap(const ConvShape& s) {
  const auto idle = [](std::int64_t in, std::int64_t out, std::int64_t taps, std::int64_t stride,
                       std::int64_t dilation, std::int64_t pad) {
    for (std::int64_t t = 0; t < taps; ++t) {
      bool reads = false;
      for (std::int64_t o = 0; o < out; ++o) {
        const std::int64_t at = o * stride + t * (dilation + 1) - pad;
        reads |= at >= 0 && at < in;
      }
      if (!reads) return true;
    }
    return false;
  };
  return idle(s.id, s.od, s.kd, s.sd, s.dd, s.pd) || idle(s.ih, s.oh, s.kh, s.sh, s.dh, s.ph) ||
         idle(s.iw, s.ow, s.kw, s.sw, s.dw, s.pw);
}

class OneDnn : public testing::Test {
 protected:
  void SetUp() override {
    // Left out of the build by choice: nothing to test. Built and unusable: a failure.
    if (bench_.reason().find("no plugin libassay_") != std::string::npos)
      GTEST_SKIP() << bench_.reason();
    ASSERT_TRUE(bench_.available()) << bench_.reason();
  }
  Bench bench_{"onednn"};
};

TEST_F(OneDnn, EqualsTheOracleOverRandomShapes) {
  std::mt19937 random(12);
  int ran = 0, refused = 0;
  for (int i = 0; i < 30; ++i) {
    bench_.use_threads(1 + i % 2);
    const ConvShape shape = random_shape(random);
    for (ConvDirection direction : directions)
      for (Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16,
                                  Precision::int8, Precision::bf16_fp32, Precision::fp16_fp32})
        for (const char* layout : {"any", "nhwc", plain_weights_layout}) {
          if (precision != Precision::fp32 && direction == ConvDirection::bwd_weights &&
              has_idle_tap(shape))
            continue;
          const ConvProblem problem(shape, direction, precision);
          if (!bench_.make(problem, "direct", layout)) {
            ASSERT_FALSE(bench_.reason().empty());
            ASSERT_FALSE(precision == Precision::fp32)
                << bench_.reason();  // fp32 direct is there on every processor
            ++refused;
            continue;
          }
          verify(bench_, problem, static_cast<std::uint64_t>(i));
          if (HasFatalFailure()) return;
          ++ran;
        }
  }
  EXPECT_GT(ran, 150);
  RecordProperty("refused", refused);
}

TEST_F(OneDnn, EqualsTheOracleOnRealisticChannels) {
  for (const char* text : {"mb2ic64ih7oc96kh3ph1", "mb1ic3ih24oc64kh7sh2ph3", "mb2ic100ih9oc36kh1",
                           "g16mb2ic16ih12oc16kh3ph1", "mb1ic17id6ih7iw8oc33kd3kh3kw3pd1ph1pw1"})
    for (ConvDirection direction : directions)
      for (Precision precision :
           {Precision::fp32, Precision::bf16, Precision::int8, Precision::bf16_fp32})
        for (const char* algorithm : {"auto", "direct", "winograd"})
          for (const char* layout : {"any", "nchw", "nhwc", plain_weights_layout}) {
            if (algorithm == std::string("auto") && layout != std::string("any")) continue;
            const ConvProblem problem(parse_conv(text), direction, precision);
            if (!bench_.make(problem, algorithm, layout)) {
              // Every processor has these, whatever else it lacks.
              EXPECT_FALSE(precision == Precision::fp32 && algorithm == std::string("auto"))
                  << text << ": " << bench_.reason();
              continue;
            }
            const Execution execution = bench_.operation().execution();
            if (algorithm != std::string("auto")) {
              EXPECT_EQ(execution.algorithm, algorithm);
            }
            EXPECT_EQ(execution.evidence, "library");
            EXPECT_FALSE(execution.implementation.empty());
            EXPECT_NE(execution.layout.find("="), std::string::npos);
            verify(bench_, problem, 3);
            if (HasFatalFailure()) return;
          }
}

/// oneDNN's own 1x1 kernels write past their workspace there (its issue 6035), and the process may
/// abort.
TEST_F(OneDnn, StridedPointsOfFewChannels) {
  for (const char* text :
       {"mb32ic4ih8oc8kh1sh2ph0", "mb8ic1ih9oc8kh1sh2ph0", "mb8ic12ih8oc16kh1sh2ph0"})
    for (const ConvDirection direction : directions)
      for (const char* layout : {"any", "nhwc", plain_weights_layout}) {
        const ConvProblem problem(parse_conv(text), direction, Precision::fp32);
        ASSERT_TRUE(bench_.make(problem, "direct", layout)) << text << ": " << bench_.reason();
        verify(bench_, problem, 3);
        if (HasFatalFailure()) return;
      }
}

TEST_F(OneDnn, PutAndGetRoundTripThroughBlockedLayouts) {
  // Channel counts that no block of 8 or 16 divides: the layouts pad, and padding must neither show
  // nor disturb.
  int blocked = 0;
  for (const char* text : {"mb2ic3ih9oc17kh3ph1", "mb1ic33ih5oc50kh3ph1", "g3mb2ic9ih6oc15kh3",
                           "mb1ic19id4oc21kd3pd1", "mb2ic40ih7oc24kh1"})
    for (ConvDirection direction : directions)
      for (Precision precision : {Precision::fp32, Precision::bf16, Precision::int8}) {
        if (precision == Precision::int8 && direction != ConvDirection::forward) continue;
        const ConvProblem problem(parse_conv(text), direction, precision);
        if (!bench_.make(problem)) continue;
        for (std::size_t i = 0; i < 3; ++i) {
          const TensorSpec& spec = bench_.spec(i);
          blocked += spec.bytes != static_cast<std::size_t>(spec.elements()) * size_of(spec.type);
          const Values values(Values::Kind::mantissa, 5, spec.name, spec.type,
                              spec.type == DataType::u8 ? 127 : 100);
          bench_.put(i, values);
          const std::vector<double> got = bench_.get(i),
                                    want = materialize(values, spec.elements());
          ASSERT_EQ(got, want) << text << " " << spec.name;
        }
      }
  EXPECT_GT(blocked, 0);  // else this machine tested nothing
  EXPECT_GT(bench_.device().reorder_seconds(), 0);
}

TEST_F(OneDnn, DistinctElementsKeepDistinctPlaces) {
  // A permutation inside a group or a swap of height and width would survive a test with equal
  // extents.
  const ConvProblem problem(parse_conv("g2mb2ic6ih5iw7oc10oh5ow7kh3kw1ph1"), ConvDirection::forward,
                            Precision::fp32);
  ASSERT_TRUE(bench_.make(problem)) << bench_.reason();
  for (std::size_t i = 0; i < 3; ++i) {
    bench_.device().put(bench_.tensor(i), [](std::int64_t first, std::span<double> out) {
      for (double& v : out) v = static_cast<double>(first++);
    });
    const std::vector<double> got = bench_.get(i);
    for (std::size_t e = 0; e < got.size(); ++e) ASSERT_EQ(got[e], static_cast<double>(e));
  }
}

TEST_F(OneDnn, RefusalsAreClean) {
  const ConvProblem fp32(parse_conv("mb2ic16ih14oc16kh3ph1"), ConvDirection::forward,
                         Precision::fp32);
  EXPECT_FALSE(bench_.make(ConvProblem(fp32.shape(), ConvDirection::forward, Precision::fp64)));
  EXPECT_NE(bench_.reason().find("fp64"), std::string::npos);
  EXPECT_FALSE(bench_.make(ConvProblem(fp32.shape(), ConvDirection::bwd_data, Precision::int8)));
  EXPECT_FALSE(bench_.make(fp32, "fft"));
  EXPECT_NE(bench_.reason().find("fft"), std::string::npos);
  EXPECT_FALSE(bench_.make(fp32, "direct", "chwn"));
  // Winograd with a stride exists nowhere: the library's own words and the request are told.
  EXPECT_FALSE(bench_.make(
      ConvProblem(parse_conv("mb2ic16ih14oc16kh3sh2ph1"), ConvDirection::forward, Precision::fp32),
      "winograd"));
  EXPECT_NE(bench_.reason().find("oneDNN"), std::string::npos);
  EXPECT_NE(bench_.reason().find("winograd"), std::string::npos);
  EXPECT_NE(bench_.reason().find("sh2"), std::string::npos);
  bench_.options().settings["device"] = "tpu";
  EXPECT_FALSE(bench_.make(fp32));
  bench_.options().settings["device"] = "gpu";
  if (!bench_.make(fp32)) {
    EXPECT_NE(bench_.reason().find("gpu"), std::string::npos) << bench_.reason();
  }
}

TEST_F(OneDnn, Fp32StaysFp32WhateverTheEnvironmentSays) {
  // Read by oneDNN when it is first used: meaningful as ctest runs it, in a process of its own.
  setenv("ONEDNN_DEFAULT_FPMATH_MODE", "ANY", 1);
  const ConvProblem problem(parse_conv("mb1ic64ih14oc64kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  ASSERT_TRUE(bench_.make(problem)) << bench_.reason();
  EXPECT_EQ(bench_.operation().execution().compute, "fp32");
  verify(bench_, problem, 1);
  unsetenv("ONEDNN_DEFAULT_FPMATH_MODE");
}

TEST_F(OneDnn, ComputeTypeFollowsTheInstructionSet) {
  const ConvProblem problem(parse_conv("mb1ic64ih14oc64kh3ph1"), ConvDirection::forward,
                            Precision::bf16);
  std::ifstream file("/proc/cpuinfo");
  const std::string cpu((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!bench_.make(problem)) {
    // oneDNN 3.2 has bf16 from AVX-512 on: there a refusal is a fault.
    ASSERT_EQ(cpu.find("avx512bw"), std::string::npos) << bench_.reason();
    GTEST_SKIP() << bench_.reason();
  }
  const Execution execution = bench_.operation().execution();
  EXPECT_EQ(execution.storage, "bf16");
  EXPECT_EQ(execution.accumulate, "fp32");
  if (cpu.find("avx512_bf16") == std::string::npos && cpu.find("amx_bf16") == std::string::npos) {
    EXPECT_NE(execution.compute, "bf16")
        << execution.implementation;  // bf16 made in fp32 is not called bf16 arithmetic
  }
}

TEST_F(OneDnn, WideGradientsAreThereWhereNarrowOnesAre) {
  for (const auto& [narrow, mixed] : {std::pair{Precision::bf16, Precision::bf16_fp32},
                                      std::pair{Precision::fp16, Precision::fp16_fp32}}) {
    const ConvShape shape = parse_conv("mb2ic64ih14oc64kh3ph1");
    const bool there = bench_.make(ConvProblem(shape, ConvDirection::bwd_weights, narrow), "auto",
                                   plain_weights_layout);
    const std::string compute = there ? bench_.operation().execution().compute : "";
    EXPECT_EQ(bench_.make(ConvProblem(shape, ConvDirection::bwd_weights, mixed), "auto",
                          plain_weights_layout),
              there)
        << bench_.reason();
    if (there) {
      EXPECT_EQ(bench_.operation().execution().compute, compute);
    }
  }
}

TEST_F(OneDnn, LayoutNamesReadLikeBenchdnns) {
  const ConvProblem problem(parse_conv("mb1ic64ih14oc64kh3ph1"), ConvDirection::forward,
                            Precision::fp32);
  ASSERT_TRUE(bench_.make(problem, "auto", "nhwc"));
  EXPECT_NE(bench_.operation().execution().layout.find("src=acdb"), std::string::npos)
      << bench_.operation().execution().layout;
  ASSERT_TRUE(bench_.make(problem, "auto", "nchw"));
  EXPECT_NE(bench_.operation().execution().layout.find("src=abcd"), std::string::npos)
      << bench_.operation().execution().layout;
  ASSERT_TRUE(bench_.make(problem));
  const RE2 name(
      "src=(opaque|[a-eA-E]+([0-9]+[a-e])*) weights=(opaque|[a-eA-E]+([0-9]+[a-e])*) "
      "dst=(opaque|[a-eA-E]+([0-9]+[a-e])*)");
  EXPECT_TRUE(RE2::FullMatch(bench_.operation().execution().layout, name))
      << bench_.operation().execution().layout;
}

}  // namespace test_conv_backends
}  // namespace assay
