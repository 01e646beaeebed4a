// The stream benchmark: what it promises of its counts and constants, and the native backend
// against its oracle.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "assay/test_paths.hpp"
#include "core/base/error.hpp"
#include "core/machine/environment.hpp"
#include "core/measure/workload.hpp"
#include "core/program/plugins.hpp"
#include "kernels/stream/benchmark.hpp"
#include "kernels/stream/problem.hpp"

namespace assay {
namespace test_stream {

StreamProblem problem(const std::string& descriptor, Precision precision = Precision::fp64,
                      int threads = 1) {
  return {parse_stream(descriptor), precision, threads};
}

TEST(StreamDescriptor, ReadsWhatItWrites) {
  for (const std::string& kernel : list_names<StreamKernel>()) {
    const std::string text = kernel + "_n4096";
    EXPECT_EQ(to_descriptor(parse_stream(text)), text);
    EXPECT_EQ(to_descriptor(parse_stream(kernel + "n4096")), text);  // as a list with @n4096
    const StreamShape whole = parse_stream(kernel);
    EXPECT_EQ(parse_stream(to_descriptor(whole)), whole);
  }
}

TEST(StreamDescriptor, DefaultArraysAreFourTimesTheCaches) {
  for (const char* kernel : {"copy", "scale", "add", "triad", "read"}) {
    const StreamProblem stream_problem = problem(kernel);
    EXPECT_GE(static_cast<double>(stream_problem.tensors()[0].bytes),
              4.0 * static_cast<double>(cache_bytes()));
    EXPECT_GE(stream_problem.shape().n, 1'000'000);
  }
}

TEST(StreamDescriptor, RefusesWhatIsNone) {
  for (const char* text : {"", "quad", "triad_5", "triad_n", "triad_n0", "triad_n-1", "triad_n1x",
                           "triad_n1n2", "5", "_n5", "latency_n1", "matmul_n46341", "fma_n3",
                           "fma_n0", "fma_n1048578", "triad_n99999999999999999999"})
    EXPECT_THROW(parse_stream(text), InputError) << text;
  try {
    parse_stream("tirad_n5");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("triad"), std::string::npos) << error.what();
  }
}

TEST(StreamProblem, CountsAsMcCalpinDoes) {
  EXPECT_EQ(problem("copy_n1000").bytes(), 16000);
  EXPECT_EQ(problem("scale_n1000").bytes(), 16000);
  EXPECT_EQ(problem("add_n1000").bytes(), 24000);
  EXPECT_EQ(problem("triad_n1000").bytes(), 24000);
  EXPECT_EQ(problem("triad_n1000", Precision::fp32).bytes(), 12000);
  EXPECT_EQ(problem("copy_n1000").flops(), 0);
  EXPECT_EQ(problem("scale_n1000").flops(), 1000);
  EXPECT_EQ(problem("triad_n1000").flops(), 2000);
}

TEST(StreamProblem, CountsPassesLoadsAndUpdates) {
  EXPECT_EQ(problem("read_n2048").passes(), 4096);  // 64 MiB in all
  EXPECT_EQ(problem("read_n2048").bytes(), 0x1p26);
  EXPECT_EQ(problem("read_n2048", Precision::fp32).bytes(), 0x1p26);
  EXPECT_EQ(problem("read_n100000000").passes(), 1);
  for (const char* text : {"latency_n2", "latency_n256", "latency_n100000"}) {
    const StreamProblem chase = problem(text);
    EXPECT_GE(chase.loads(), 65535);
    EXPECT_NE(chase.loads() % chase.shape().n, 0) << "it would end where it began";
    EXPECT_EQ(chase.amounts().at("loads_per_s"), static_cast<double>(chase.loads()));
    EXPECT_EQ(chase.bytes(), 0);
  }
  EXPECT_EQ(problem("fma_n1000", Precision::fp32, 3).flops(), 2.0 * 1000 * 1536 * 3);
  EXPECT_EQ(problem("fma_n1000", Precision::bf16, 1).flops(), 4.0 * 1000 * 1536);
  EXPECT_EQ(problem("fma_n1000", Precision::int8, 1).flops(), 8.0 * 1000 * 1536);
}

/// Two steps raise x by one unit in the last place, whatever x is: what the whole check of fma
/// stands on. The arithmetic is in `T` itself, or in fp16 through fp64, in which a product of two
/// fp16 is exact.
TEST(StreamConstants, TwoStepsRaiseByOneUnit) {
  std::mt19937_64 random(3);
  const auto draw = [&] { return std::uniform_real_distribution<double>(1, 1.4999)(random); };
  const FmaConstants<double> wide = fma_constants(53), c = fma_constants(24),
                             half = fma_constants(11);
  for (int i = 0; i < 200000; ++i) {
    const double x = draw();
    ASSERT_EQ(std::fma(wide.back, std::fma(wide.a, x, wide.b), wide.up), x + 0x1p-52);
    const float y = static_cast<float>(draw()), a = static_cast<float>(c.a),
                b = static_cast<float>(c.b), back = static_cast<float>(c.back),
                up = static_cast<float>(c.up);
    ASSERT_EQ(c.a, static_cast<double>(a));
    ASSERT_EQ(c.back, static_cast<double>(back));
    ASSERT_EQ(c.up, static_cast<double>(up));
    ASSERT_EQ(std::fma(back, std::fma(a, y, b), up), y + 0x1p-23F);
  }
  for (double x = 1; x < 1.5; x += 0x1p-10) {
    const double y = round_to(DataType::fp16, half.a * x + half.b);
    ASSERT_EQ(round_to(DataType::fp16, half.back * y + half.up), x + 0x1p-10);
    ASSERT_EQ(round_to(DataType::fp16, half.back * y + 0.25), x);
  }
  for (const double value : {half.a, half.b, half.back, half.up})
    EXPECT_EQ(round_to(DataType::fp16, value), value);
}

TEST(StreamConstants, MultipliersHaveFullSignificands) {
  // A multiplier of few bits would draw less power than real work does.
  for (const int bits : {53, 24}) {
    const double a = fma_constants(bits).a, back = fma_constants(bits).back;
    EXPECT_NE(std::fmod(std::ldexp(a, bits - 4), 1), 0);
    EXPECT_NE(std::fmod(std::ldexp(back, bits - 4), 1), 0);
  }
}

TEST(StreamConstants, DotProductsRiseByOneUnit) {
  for (const Precision precision : {Precision::bf16, Precision::int8}) {
    const DotConstants c = dot_constants(precision);
    int rise = 0, largest = 0;
    for (int i = 0; i < 4; ++i) {
      rise += c.first[i] * (c.second[i] + c.back[i]);
      largest += std::abs(c.first[i] * c.second[i]);
      EXPECT_LT(c.first[i], 256);
      if (precision == Precision::int8) {
        EXPECT_LE(c.first[i], 127);
        EXPECT_LE(std::abs(c.second[i]), 127);
        EXPECT_LE(std::abs(c.back[i]), 127);
      }
      EXPECT_LT(std::abs(c.back[i]), 256);  // eight bits: exact in bf16
    }
    EXPECT_EQ(rise, 1);
    // Inputs below 2^20 units, the longest run, and the sum under way: exact in fp32.
    EXPECT_LT((1 << 20) + (1 << 19) + largest, 1 << 24);
  }
}

TEST(StreamLatency, IsOneCycleOfAllLines) {
  for (const std::int64_t lines : {2, 3, 64, 1000}) {
    const std::vector<std::size_t> order = latency_order(lines);
    EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(),
              static_cast<std::size_t>(lines));
  }
  EXPECT_EQ(latency_start(-1, 10), 9);
  EXPECT_EQ(latency_start(23, 10), 3);
}

/// Prepares a case as the program does.
Result<std::unique_ptr<Workload>> prepare(const Settings& given) {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static const std::unique_ptr<Communicator> ranks = make_serial_communicator();
  const OperationBenchmark& benchmark = stream_benchmark();
  Settings settings{{"precision", "fp64"}, {"backend", "native"}, {"algorithm", "auto"},
                    {"cache", "hot"},      {"threads", "1"},      {"numa", "any"},
                    {"smt", "any"}};
  for (const auto& [name, value] : given) settings[name] = value;
  CaseContext context{plugins, *ranks};
  return benchmark.prepare(make_case(benchmark, settings), context);
}

std::string refusal(const Settings& given) {
  const auto made = prepare(given);
  const auto* no = std::get_if<Unsupported>(&made);
  return no == nullptr ? "" : no->reason;
}

void verify(const Settings& given) {
  auto made = prepare(given);
  std::string what;
  for (const auto& [name, value] : given) what += name + "=" + value + " ";
  if (const auto* no = std::get_if<Unsupported>(&made)) {
    // The reason names what the processor, or every processor, lacks.
    const std::string& precision = given.at("precision");
    const char* lacks = precision == "tf32"            ? "no tf32"
                        : precision.ends_with("_fp32") ? "no peak of its own"
                        : precision.starts_with("fp8") ? "in matrices alone"
                                                       : "this processor";
    ASSERT_NE(no->reason.find(lacks), std::string::npos) << what << no->reason;
    return;
  }
  auto& workload = *std::get<std::unique_ptr<Workload>>(made);
  const Verification before = workload.verify_before();
  ASSERT_TRUE(before.passed) << what << before.reason;
  ASSERT_TRUE(before.exact) << what;
  for (int i = 0; i < 3; ++i) {
    workload.reset();
    workload.run(workload.stream());
  }
  const Verification after = workload.verify_after();
  ASSERT_TRUE(after.passed) << what << after.reason;
}

TEST(NativeStream, EveryKernelAtEverySize) {
  // Less than a vector, no whole number of them, and no whole number of the threads' parts.
  for (const char* kernel : {"copy", "scale", "add", "triad", "read"})
    for (const char* n : {"1", "7", "16", "1000", "8191", "70001", "300007"})
      for (const char* precision : {"fp64", "fp32"})
        for (const char* threads : {"1", "3"}) {
          const std::string descriptor = std::string(kernel) + "_n" + n;
          if (std::string(kernel) == "read") {
            verify({{"problem", descriptor}, {"precision", precision}, {"threads", threads}});
          } else {
            for (const char* algorithm : {"regular", "nontemporal"})
              verify({{"problem", descriptor},
                      {"precision", precision},
                      {"threads", threads},
                      {"algorithm", algorithm}});
          }
          if (HasFatalFailure()) return;
        }
}

TEST(NativeStream, ColdRotatesAndLatencyCounts) {
  verify({{"problem", "triad_n65536"}, {"cache", "cold"}, {"threads", "2"}});
  for (const char* n : {"2", "3", "64", "1000", "70000"})
    verify({{"problem", std::string("latency_n") + n}});
}

TEST(NativeStream, PeaksAreExactInEveryPrecision) {
  for (const std::string& precision : list_precision_names())
    for (const char* n : {"2", "126", "4096"})
      for (const char* threads : {"1", "2"})
        verify({{"problem", std::string("fma_n") + n},
                {"precision", precision},
                {"threads", threads}});
}

TEST(NativeStream, TellsTheClockAndTheVectors) {
  auto made = prepare({{"problem", "fma_n64"}});
  // Every processor has fp64 multiply-adds, so no refusal is right.
  ASSERT_FALSE(std::holds_alternative<Unsupported>(made)) << std::get<Unsupported>(made).reason;
  const Execution ran = std::get<std::unique_ptr<Workload>>(made)->execution();
  EXPECT_EQ(ran.algorithm, "fma");
  EXPECT_GE(ran.numbers.at("vector_bits"), 128);
  EXPECT_GE(ran.numbers.at("chains"), 10);
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_GT(ran.numbers.at("clock_hz"), 1e8);
  EXPECT_LT(ran.numbers.at("clock_hz"), 1e11);
#endif
}

/// A peak of vectors beside tiles that are 8 times as fast would be no ceiling.
TEST(NativeStream, UsesTheTilesOfAProcessorThatHasThem) {
  const nlohmann::json flags = capture_environment()["hardware"]["instruction_sets"];
  for (const char* precision : {"bf16", "int8"}) {
    const std::string unit = std::string("amx_") + precision;
    const bool has = std::find(flags.begin(), flags.end(), unit) != flags.end();
    auto made = prepare({{"problem", "fma_n64"}, {"precision", precision}});
    if (const auto* no = std::get_if<Unsupported>(&made)) {
      EXPECT_TRUE(!has || no->reason.find("does not permit") != std::string::npos) << no->reason;
      continue;
    }
    const Execution ran = std::get<std::unique_ptr<Workload>>(made)->execution();
    EXPECT_EQ(has, ran.implementation.starts_with("AMX")) << ran.implementation;
    EXPECT_EQ(ran.algorithm, "dot");
  }
}

TEST(NativeStream, RefusesWithAReason) {
  EXPECT_NE(refusal({{"problem", "triad_n64"}, {"precision", "bf16"}}).find("fp64 and fp32"),
            std::string::npos);
  EXPECT_NE(refusal({{"problem", "latency_n64"}, {"threads", "2"}}).find("one thread"),
            std::string::npos);
  EXPECT_NE(refusal({{"problem", "latency_n64"}, {"precision", "fp32"}}).find("no precision"),
            std::string::npos);
  EXPECT_NE(refusal({{"problem", "read_n64"}, {"cache", "cold"}}).find("cold"), std::string::npos);
  EXPECT_NE(refusal({{"problem", "fma_n64"}, {"algorithm", "nontemporal"}}).find("nontemporal"),
            std::string::npos);
  EXPECT_NE(refusal({{"problem", "triad_n64"}, {"numa", "4000000"}}).find("NUMA node"),
            std::string::npos);
  EXPECT_NE(refusal({{"problem", "triad_n64"}, {"smt", "999"}}).find("999 hardware threads"),
            std::string::npos);
  EXPECT_THROW(refusal({{"problem", "triad_n64"}, {"numa", "first"}}), InputError);
  EXPECT_NE(refusal({{"problem", "matmul_n8"}}).find("--problem fma"), std::string::npos);
  EXPECT_NE(refusal({{"problem", "fma_n64"}, {"precision", "tf32"}}).find("tensor cores"),
            std::string::npos);
}

/// An oracle that would take anything is none. Kernels that round once have no room at all, triad
/// that of two roundings.
TEST(StreamOracle, LeavesNoRoomForErrors) {
  for (const char* text : {"copy_n1000", "scale_n1000", "add_n1000", "triad_n1000", "fma_n64"})
    for (const Precision precision : {Precision::fp64, Precision::fp32}) {
      const StreamProblem stream_problem = problem(text, precision);
      const auto tensors = stream_problem.tensors();
      Inputs inputs;
      for (const TensorSpec& spec : tensors)
        if (spec.role == Role::input)
          inputs.emplace(spec.name, Values(Values::Kind::mantissa, 5, spec.name, spec.type, 0));
      const auto oracle = make_stream_oracle(stream_problem);
      const auto indices = oracle->sample(tensors.back(), 1e4, 1);
      std::vector<Expected> expected(indices.size());
      oracle->expect(tensors.back(), inputs, {}, false, indices, expected);
      const double room =
          stream_problem.shape().kernel == StreamKernel::triad
              ? 1.01 * unit_roundoff(data_type(name(precision))) * (2 * 4 + 3)  // values below 4, 3
              : 0;
      for (const Expected& value : expected) ASSERT_LE(value.max_bound, room) << text;
    }
}

/// dst = src * weights^T, row-major; as exactly, and with as little room, as a convolution.
TEST(StreamOracle, MatmulIsAProductOfMatrices) {
  constexpr std::int64_t n = 5;
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::int8}) {
    const StreamProblem stream_problem = problem("matmul_n5", precision);
    EXPECT_EQ(stream_problem.flops(), 2 * 125);
    EXPECT_EQ(stream_problem.bytes(), 0);
    const auto tensors = stream_problem.tensors();
    Inputs inputs;
    for (const TensorSpec& spec : tensors)
      if (spec.role == Role::input)
        inputs.emplace(spec.name, Values(Values::Kind::mantissa, 5, spec.name, spec.type, 63));
    const Values &src = inputs.find("src")->second, &weights = inputs.find("weights")->second;
    const auto oracle = make_stream_oracle(stream_problem);
    const auto indices = oracle->sample(tensors.back(), 1e6, 1);
    ASSERT_EQ(indices.size(), 25u);
    std::vector<Expected> expected(indices.size());
    oracle->expect(tensors.back(), inputs, {}, false, indices, expected);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, absolute = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          sum += src(i * n + k) * weights(j * n + k);
          absolute += std::abs(src(i * n + k) * weights(j * n + k));
        }
        const Expected& got = expected[static_cast<std::size_t>(i * n + j)];
        EXPECT_NEAR(got.value, sum, 1e-12 * absolute);
        EXPECT_LE(got.max_bound, (precision == Precision::fp32 ? 1e-6 : 3e-3) * absolute);
      }
  }
}

TEST(StreamOracle, SamplesBothEndsAndSumsTheRest) {
  const StreamProblem stream_problem = problem("triad_n1000000");
  const auto oracle = make_stream_oracle(stream_problem);
  const TensorSpec output = stream_problem.tensors().back();
  const auto indices = oracle->sample(output, 2e7, 1);
  EXPECT_EQ(indices.front(), 0);
  EXPECT_EQ(indices.back(), 999999);
  EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
  EXPECT_EQ(std::adjacent_find(indices.begin(), indices.end()), indices.end());
  Inputs inputs;
  double sum = 0;
  for (const TensorSpec& spec : stream_problem.tensors())
    if (spec.role == Role::input)
      inputs.emplace(spec.name, Values(Values::Kind::integer, 1, spec.name, spec.type,
                                       oracle->exact_magnitude({})));
  const ChecksumWeights weights(output.dims, 7);
  for (std::int64_t i = 0; i < 1000000; ++i)
    sum += weights.factor(0, i) * (inputs.find("a")->second(i) + 3 * inputs.find("b")->second(i));
  EXPECT_EQ(oracle->checksum(output, inputs, weights), sum);
}

}  // namespace test_stream
}  // namespace assay
