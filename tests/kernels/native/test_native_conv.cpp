// The native backend's convolutions against the oracle.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "assay/test_paths.hpp"
#include "tests/kernels/conv/conv_bench.hpp"

namespace assay {
namespace test_native_conv {

using namespace conv_test;

constexpr Precision precisions[] = {Precision::fp32, Precision::bf16, Precision::fp16,
                                    Precision::bf16_fp32, Precision::fp16_fp32};

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
  for (int i = 0; i < 20; ++i) {
    bench_.use_threads(1 + i % 3);
    const ConvShape shape = random_shape(random, false);
    for (ConvDirection direction : directions)
      for (Precision precision : precisions)
        for (const char* layout : {"any", "nhwc", plain_weights_layout}) {
          if (!has(direction, precision)) continue;
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
  // beyond the filter, taps that no output reads, and one pixel; 1 x 1 filters, whose inputs may be
  // read in place: several passes over channels, planes in parts, strides, padding.
  for (const char* text : {"mb2ic3ih23oc27kh7sh2ph3",
                           "mb3ic17ih7oc33kh3ph1",
                           "mb1ic100ih9oc36kh1",
                           "mb2ic48ih15oc48kh3ph1",
                           "mb1ic5ih3iw300oc40kh3kw5ph1pw2",
                           "g2mb2ic32ih12oc64kh3ph1",
                           "g4mb2ic12ih9oc20kh3sh2ph1",
                           "g16mb2ic16ih8oc16kh3ph1",
                           "mb1ic8ih5oc8oh9kh3ph3",
                           "mb1ic400ih7oc72kh3ph1",
                           "mb1ic20ih14oc40kh3sh2ph1",
                           "mb2ic16ih1oc16oh1kh3ph1",
                           "mb1ic24ih11oc24kh3dh2ph3",
                           "mb1ic4ih9oc4kh1sh3",
                           "mb1ic700ih7oc48kh1",
                           "mb1ic40ih3iw300oc40kh1kw1",
                           "g2mb2ic32ih5oc64kh1",
                           "mb1ic16ih9oc32kh1sh2",
                           "mb2ic16ih6iw1oc16kh1kw1sh1sw2",
                           "mb1ic16ih5oc16kh1ph1",
                           "mb1ic16ih7oc16kh1sh2ph3",
                           "mb2ic1ih9iw30oc24kh3kw7sh2sw3ph1pw0",
                           "mb1ic2ih11oc24kh3dh2ph3",
                           "mb3ic4ih10oc3kh3ph1",
                           "mb1ic5ih9oc20kh3ph1",
                           "g2mb1ic32ih7oc40kh3ph1"})
    for (ConvDirection direction : directions)
      for (Precision precision : precisions)
        for (const char* layout : {"any", "nhwc", plain_weights_layout}) {
          if (!has(direction, precision)) continue;
          bench_.use_threads(2);
          const ConvProblem problem(parse_conv(text), direction, precision);
          ASSERT_TRUE(bench_.make(problem, "implicit_gemm", layout)) << text << bench_.reason();
          verify(bench_, problem, 5);
          if (HasFatalFailure()) return;
        }
}

TEST_F(NativeConv, SmallProblemsOnManyThreadsEqualTheOracle) {
  // More threads than parts, or than there is memory for; panels whose weights are made in several
  // blocks of channels, and blocks of tiles that are small for the threads' sake.
  for (const char* text : {"mb1ic64ih14oc64kh3ph1", "mb1ic80ih7oc96kh3ph1", "mb1ic160ih4oc64kh3ph1",
                           "mb2ic32ih30oc16kh3ph1"})
    for (ConvDirection direction : directions)
      for (const char* algorithm :
           {"implicit_gemm", "winograd_2x2", "winograd_4x4", "winograd_2x2_16bit"})
        for (int threads : {3, 16}) {
          bench_.use_threads(threads);
          const bool narrow = std::string(algorithm).ends_with("_16bit");
          const ConvProblem problem(parse_conv(text), direction,
                                    narrow ? Precision::bf16 : Precision::fp32);
          if (!bench_.make(problem, algorithm)) {
            ASSERT_EQ(direction, ConvDirection::bwd_weights) << text << bench_.reason();
            continue;
          }
          verify(bench_, problem, 6);
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
        for (const char* layout : {"any", "nhwc", plain_weights_layout})
          for (const char* algorithm :
               {"winograd_2x2", "winograd_4x4", "winograd_2x2_16bit", "winograd_4x4_16bit"}) {
            bench_.use_threads(2);
            const ConvProblem problem(parse_conv(text), direction, precision);
            if (!has(direction, precision) ||
                (precision == Precision::fp32 && std::string(algorithm).ends_with("_16bit")))
              continue;
            ASSERT_TRUE(bench_.make(problem, algorithm, layout)) << text << bench_.reason();
            verify(bench_, problem, 6);
            if (HasFatalFailure()) return;
          }
}

/// The environment limits the instruction set of a plugin opened now, and of all later ones.
class Limited {
 public:
  explicit Limited(const char* target) {
    if (target != nullptr) setenv("ASSAY_NATIVE_TARGET", target, 1);
    plugins_ = std::make_unique<Plugins>(
        std::vector{std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
    bench_ = std::make_unique<Bench>("native", *plugins_);
    unsetenv("ASSAY_NATIVE_TARGET");
  }
  Bench& bench() { return *bench_; }

 private:
  std::unique_ptr<Plugins> plugins_;
  std::unique_ptr<Bench> bench_;
};

TEST_F(NativeConv, EveryInstructionSetEqualsTheOracle) {
  std::set<std::string> ran;
  for (const char* target : {"SSE4", "AVX2", "AVX3", "NEON", "SVE", "SVE2"}) {
    Limited limited(target);
    if (!limited.bench().available()) {  // of another processor
      EXPECT_NE(limited.bench().reason().find(target), std::string::npos)
          << limited.bench().reason();
      continue;
    }
    for (const char* text : {"mb2ic35ih9oc49kh3ph1", "mb1ic3ih13oc27kh5sh2ph2"})
      for (ConvDirection direction : directions)
        for (Precision precision : precisions)
          for (const char* algorithm :
               {"implicit_gemm", "winograd_2x2", "winograd_4x4", "winograd_4x4_16bit"}) {
            const ConvProblem problem(parse_conv(text), direction, precision);
            if (!limited.bench().make(problem, algorithm)) continue;
            const Execution execution = limited.bench().operation().execution();
            ASSERT_EQ(execution.implementation, std::string(algorithm) + ":" + target);
            verify(limited.bench(), problem, 8);
            if (HasFatalFailure()) return;
            ran.insert(target);
          }
  }
  Limited none(nullptr);
  ASSERT_TRUE(none.bench().available());
  EXPECT_FALSE(ran.empty());
  Limited wrong("AVX1024");
  EXPECT_FALSE(wrong.bench().available());
  EXPECT_NE(wrong.bench().reason().find("AVX1024"), std::string::npos);
  Limited again(nullptr);
}

TEST_F(NativeConv, SaysWhatItIs) {
  const ConvProblem bf16(parse_conv("mb2ic64ih14oc64kh3ph1"), ConvDirection::forward,
                         Precision::bf16);
  ASSERT_TRUE(bench_.make(bf16, "winograd"));
  Execution execution = bench_.operation().execution();
  EXPECT_EQ(execution.algorithm, "winograd");
  EXPECT_EQ(execution.tile, 4);
  EXPECT_EQ(execution.storage, "bf16");
  EXPECT_EQ(execution.compute, "fp32");
  EXPECT_EQ(execution.accumulate, "fp32");
  EXPECT_EQ(execution.evidence, "library");
  EXPECT_EQ(execution.layout, "src=nChw16c weights=OIhw16o dst=nChw16c");
  EXPECT_EQ(execution.algorithmic_flops, count_winograd_flops(bf16, 4));
  EXPECT_EQ(execution.workspace_bytes, bench_.spec(3).bytes);
  ASSERT_TRUE(bench_.make(bf16, "winograd_2x2", "nhwc"));
  execution = bench_.operation().execution();
  EXPECT_EQ(execution.tile, 2);
  EXPECT_NE(execution.layout.find("src=nhwc"), std::string::npos);
  ASSERT_TRUE(bench_.make(bf16, "winograd_4x4"));
  const std::size_t wide = bench_.operation().execution().workspace_bytes;
  ASSERT_TRUE(bench_.make(bf16, "winograd_4x4_16bit"));
  execution = bench_.operation().execution();
  EXPECT_EQ(execution.algorithm, "winograd");
  EXPECT_EQ(execution.implementation.find("winograd_4x4_16bit:"), 0u) << execution.implementation;
  EXPECT_EQ(execution.compute, "bf16");
  EXPECT_EQ(execution.accumulate, "fp32");
  EXPECT_EQ(execution.operand_roundings, 2);
  EXPECT_LT(execution.workspace_bytes, wide);
  // The rule of auto.
  const auto automatic = [&](const char* text, ConvDirection direction) {
    EXPECT_TRUE(bench_.make(ConvProblem(parse_conv(text), direction, Precision::fp32)));
    return bench_.operation().execution().algorithm;
  };
  EXPECT_EQ(automatic("mb2ic64ih14oc64kh3ph1", ConvDirection::forward), "winograd");
  EXPECT_EQ(automatic("mb2ic64ih14oc64kh3ph1", ConvDirection::bwd_data), "winograd");
  EXPECT_EQ(automatic("mb2ic64ih14oc64kh3ph1", ConvDirection::bwd_weights), "implicit_gemm");
  EXPECT_EQ(automatic("mb2ic64ih14oc64kh3sh2ph1", ConvDirection::forward), "implicit_gemm");
  EXPECT_EQ(automatic("mb2ic3ih14oc64kh3ph1", ConvDirection::forward), "implicit_gemm");
  EXPECT_EQ(bench_.backend().algorithms("conv"),
            (std::vector<std::string>{"implicit_gemm", "winograd", "winograd_2x2", "winograd_4x4",
                                      "winograd_2x2_16bit", "winograd_4x4_16bit"}));
}

TEST_F(NativeConv, WinogradLosesAccuracyWhereTransformedOperandsAreRounded) {
  // F(4x4) costs digits, F(2x2) does not; with tensors of 16 bits both are below the output's own
  // rounding while what is transformed stays fp32, and above it where that is stored in 16 bits.
  const auto error = [&](const char* algorithm, Precision precision) {
    const ConvProblem problem(parse_conv("mb2ic64ih16oc32oh16kh3ph1"), ConvDirection::forward,
                              precision);
    EXPECT_TRUE(bench_.make(problem, algorithm)) << bench_.reason();
    const Inputs inputs = make_inputs(problem, Values::Kind::mantissa, 63);
    const std::vector<double> got = bench_.run(inputs);
    const auto indices = all_of(problem.tensors()[2]);
    const auto want = expect(problem, inputs, bench_.operation().execution(), false, indices);
    double errors = 0, squares = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      errors += (got[i] - want[i].value) * (got[i] - want[i].value);
      squares += want[i].value * want[i].value;
    }
    return std::sqrt(errors / squares);
  };
  const double direct = error("implicit_gemm", Precision::fp32);
  EXPECT_GT(error("winograd_4x4", Precision::fp32), 2 * direct);
  EXPECT_LT(error("winograd_2x2", Precision::fp32), 2 * direct);
  for (Precision precision : {Precision::bf16, Precision::fp16}) {
    const double rounded = error("implicit_gemm", precision);
    EXPECT_GT(rounded, 100 * direct);
    EXPECT_NEAR(error("winograd_4x4", precision) / rounded, 1, 0.02);
    EXPECT_GT(error("winograd_2x2_16bit", precision), 1.2 * rounded);
    EXPECT_LT(error("winograd_2x2_16bit", precision), 4 * rounded);
    EXPECT_GT(error("winograd_4x4_16bit", precision), 5 * rounded);
  }
}

TEST_F(NativeConv, OutputsAreRoundedToNearestEven) {
  // Two channels and weights of one: an output is a sum that fp32 holds and 16 bits do not.
  // Rounding must be core's: ties to even, overflow to infinity, and what is not a number stays so.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<double, double>> sums{{1, 0x1p-8},
                                                    {1.0078125, 0x1p-8},
                                                    {1, 0x1p-11},
                                                    {1.0009765625, 0x1p-11},
                                                    {-1, -0x1p-8},
                                                    {65504, 16},
                                                    {65504, 15.9921875},
                                                    {0x1.fep127, 0x1p119},
                                                    {0x1p-24, 0x1p-24},
                                                    {nan, 1},
                                                    {0, 0},
                                                    {-3, 0x1p-9}};
  const auto count = static_cast<std::int64_t>(sums.size());
  for (Precision precision : {Precision::bf16, Precision::fp16}) {
    const DataType type = data_type(name(precision));
    const ConvProblem problem(parse_conv("mb1ic2ih1iw12oc17oh1ow12kh1kw1"), ConvDirection::forward,
                              precision);
    for (const char* layout : {"any", "nhwc", plain_weights_layout}) {
      ASSERT_TRUE(bench_.make(problem, "implicit_gemm", layout)) << bench_.reason();
      const auto source = [&](std::int64_t i) {
        const auto& sum = sums[static_cast<std::size_t>(i % count)];
        return round_to(type, i < count ? sum.first : sum.second);
      };
      const auto put = [&](std::size_t argument, const auto& value) {
        bench_.device().put(bench_.tensor(argument), [&](std::int64_t i, std::span<double> out) {
          for (double& v : out) v = value(i++);
        });
      };
      put(0, source);
      put(1, [](std::int64_t) { return 1.0; });
      bench_.operation().run(bench_.device().stream());
      const std::vector<double> got = bench_.get(2);
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(got.size()); ++i) {
        const double sum = source(i % count) + source(i % count + count),
                     value = got[static_cast<std::size_t>(i)];
        if (std::isnan(sum))
          EXPECT_TRUE(std::isnan(value)) << value;
        else
          EXPECT_EQ(value, round_to(type, sum)) << layout << " " << name(precision) << " " << sum;
      }
    }
  }
}

TEST_F(NativeConv, RefusalsNameTheConditionThatFails) {
  const auto refused = [&](const char* text, ConvDirection direction, Precision precision,
                           const char* algorithm, const char* layout, const char* why) {
    EXPECT_FALSE(
        bench_.make(ConvProblem(parse_conv(text), direction, precision), algorithm, layout));
    EXPECT_NE(bench_.reason().find(why), std::string::npos) << bench_.reason();
  };
  constexpr auto forward = ConvDirection::forward;
  const char* plain = "mb2ic16ih14oc16kh3ph1";
  refused("mb2ic16ih14oc16kh3sh2ph1", forward, Precision::fp32, "winograd", "any", "stride");
  refused("mb2ic16ih14oc16kh3dh1ph1", forward, Precision::fp32, "winograd", "any", "dilation");
  refused("mb2ic16ih14oc16kh5ph1", forward, Precision::fp32, "winograd_2x2", "any", "3x3");
  refused("g2mb2ic16ih14oc16kh3ph1", forward, Precision::fp32, "winograd_4x4", "any", "group");
  refused(plain, ConvDirection::bwd_weights, Precision::fp32, "winograd", "any", "bwd_weights");
  refused("mb1ic4id6oc4kd3", forward, Precision::fp32, "implicit_gemm", "any", "spatial");
  for (const char* algorithm : {"auto", "implicit_gemm", "winograd"}) {
    refused(plain, forward, Precision::int8, algorithm, "any", "int8");
    refused(plain, forward, Precision::fp64, algorithm, "any", "fp64");
  }
  refused(plain, forward, Precision::fp32, "winograd_4x4_16bit", "any",
          "tensors of 16 bits alone (fp32 was asked for)");
  refused(plain, forward, Precision::fp32, "direct", "any", "implicit_gemm, winograd");
  refused(plain, forward, Precision::bf16_fp32, "auto", "any", "bwd_weights alone");
  refused(plain, forward, Precision::fp32, "auto", "nchw", "nchw");
  bench_.options().settings["device"] = "gpu";
  EXPECT_FALSE(bench_.make(ConvProblem(parse_conv(plain), forward, Precision::fp32)));
}

TEST_F(NativeConv, DistinctElementsKeepDistinctPlaces) {
  for (const char* text : {"mb2ic19ih5iw7oc37oh5ow7kh3kw3ph1pw1", "g3mb2ic12ih5iw4oc9kh3kw1ph1"})
    for (ConvDirection direction : directions)
      for (const char* algorithm : {"implicit_gemm", "winograd"})
        for (Precision precision : {Precision::fp32, Precision::fp16}) {
          if (!bench_.make(ConvProblem(parse_conv(text), direction, precision), algorithm))
            continue;
          for (std::size_t i = 0; i < 3; ++i) {
            const auto number = [&](std::int64_t e) {  // exact in fp16, neighbours apart
              return static_cast<double>(precision == Precision::fp16 ? e % 2039 : e);
            };
            bench_.device().put(bench_.tensor(i), [&](std::int64_t e, std::span<double> out) {
              for (double& v : out) v = number(e++);
            });
            const std::vector<double> got = bench_.get(i);
            ASSERT_EQ(static_cast<std::int64_t>(got.size()), bench_.spec(i).elements());
            for (std::size_t e = 0; e < got.size(); ++e)
              ASSERT_EQ(got[e], number(static_cast<std::int64_t>(e))) << text;
          }
        }
}

TEST_F(NativeConv, WorkspaceStaysBelowTwiceTheTensors) {
  // ResNet-50's 3x3 layers of stride 1, and the CORAL-2 example, on two threads.
  bench_.use_threads(2);
  for (const char* text : {"mb16ic64ih56oc64oh56kh3ph1", "mb16ic128ih28oc128oh28kh3ph1",
                           "mb16ic256ih14oc256oh14kh3ph1", "mb16ic512ih7oc512oh7kh3ph1",
                           "mb16ic64ih112oc128oh112kh3ph1", "mb1ic512ih7oc512oh7kh3ph1"})
    for (ConvDirection direction : directions)
      for (const char* algorithm : {"implicit_gemm", "winograd_2x2", "winograd_4x4"}) {
        const ConvProblem problem(parse_conv(text), direction, Precision::fp32);
        const auto ranks = make_serial_communicator();
        Options options;
        options.settings["algorithm"] = algorithm;
        options.threads = 2;
        auto made = bench_.backend().make(problem, options, *ranks);
        const bool none =
            direction == ConvDirection::bwd_weights && algorithm != std::string("implicit_gemm");
        ASSERT_EQ(std::holds_alternative<Unsupported>(made), none) << text << " " << algorithm;
        if (none) continue;
        const auto execution = std::get<std::unique_ptr<Operation>>(made)->execution();
        EXPECT_LE(static_cast<double>(execution.workspace_bytes), 2 * problem.bytes())
            << text << " " << algorithm;
      }
}

TEST_F(NativeConv, IdleThreadsNeedNoMemory) {
  // Whole blocks of channels, and images that waste no more than a third of their tiles.
  const auto ranks = make_serial_communicator();
  for (const char* text :
       {"mb1ic64ih14oc64kh3ph1", "mb1ic16ih56oc16kh3ph1", "mb1ic256ih14oc32kh3ph1",
        "mb1ic32ih28oc256kh3ph1", "mb1ic512ih7oc512kh3ph1", "mb2ic128ih28oc128kh3ph1",
        "mb8ic64ih56oc64kh3ph1"})
    for (ConvDirection direction : directions)
      for (const char* algorithm : {"implicit_gemm", "winograd_2x2", "winograd_4x4"})
        for (int threads : {1, 2, 8, 64}) {
          const ConvProblem problem(parse_conv(text), direction, Precision::fp32);
          Options options;
          options.settings["algorithm"] = algorithm;
          options.threads = threads;
          auto made = bench_.backend().make(problem, options, *ranks);
          if (direction == ConvDirection::bwd_weights && std::holds_alternative<Unsupported>(made))
            continue;
          ASSERT_FALSE(std::holds_alternative<Unsupported>(made));
          const auto execution = std::get<std::unique_ptr<Operation>>(made)->execution();
          EXPECT_LE(static_cast<double>(execution.workspace_bytes), 2 * problem.bytes())
              << text << " " << algorithm << " " << threads;
          EXPECT_LE(execution.numbers.at("working_threads"), threads);
          EXPECT_GE(execution.numbers.at("working_threads"), 1);
        }
}

}  // namespace test_native_conv
}  // namespace assay
