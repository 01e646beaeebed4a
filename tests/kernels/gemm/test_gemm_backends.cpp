// The backends of matrix multiplication, through the plugins as the programs load them, by both
// passes of verification.

#include <gtest/gtest.h>

#include "gemm_helpers.hpp"
#include "kernels/gemm/benchmark.hpp"
#include "tests/kernels/broken_operation.hpp"
#include "trial.hpp"

namespace assay {
namespace test_gemm_backends {

using namespace gemm_test;
Result<std::unique_ptr<Workload>> prepare(const std::string& backend, const std::string& problem,
                                          Precision precision, int threads = 1) {
  return kernel_test::prepare(gemm_benchmark(), {{"problem", problem},
                                                 {"precision", std::string(name(precision))},
                                                 {"backend", backend},
                                                 {"threads", std::to_string(threads)}});
}

std::string refusal(const std::string& backend, const std::string& problem, Precision precision,
                    int threads = 1) {
  const auto made = prepare(backend, problem, precision, threads);
  const auto* const why = std::get_if<Unsupported>(&made);
  return why == nullptr ? "" : why->reason;
}

/// It runs both passes, some runs, and both again. False where it is unsupported.
bool verify(const std::string& backend, const std::string& problem, Precision precision,
            int threads) {
  const auto made = prepare(backend, problem, precision, threads);
  if (std::holds_alternative<Unsupported>(made)) return false;
  const std::string what = backend + " " + problem + " " + std::string(name(precision));
  Workload& workload = *std::get<std::unique_ptr<Workload>>(made);
  kernel_test::verify(workload, what);
  EXPECT_EQ(workload.execution().storage, name(precision)) << what;
  return true;
}

/// Number of the shapes that a backend has, in each precision.
std::map<Precision, int> verify_random(const std::string& backend, int shapes) {
  std::mt19937 random(21);
  std::map<Precision, int> had;
  for (int i = 0; i < shapes; ++i) {
    const GemmShape shape = random_shape(random, i % 2 == 0);
    for (const Precision precision : all_precisions) {
      had[precision] += verify(backend, to_descriptor(shape), precision, 1 + i % 2);
      if (testing::Test::HasFailure()) return had;
    }
  }
  return had;
}

TEST(GemmBackends, ReferenceHasAllButTf32) {
  constexpr int shapes = 24;
  for (const auto& [precision, count] : verify_random("reference", shapes)) {
    if (precision == Precision::tf32)
      EXPECT_EQ(count, 0);
    else if (precision == Precision::int8)
      EXPECT_GE(count, shapes / 2);  // integer factors alone
    else
      EXPECT_EQ(count, shapes) << name(precision);
  }
}

TEST(GemmBackends, OneDnnHasItsPrecisions) {
  if (const std::string why = refusal("onednn", "m8n8k8", Precision::fp32); !why.empty())
    GTEST_SKIP() << why;
  constexpr int shapes = 24;
  std::map<Precision, int> had = verify_random("onednn", shapes);
  EXPECT_EQ(had[Precision::fp32], shapes);
  EXPECT_EQ(had[Precision::fp64], 0);
  EXPECT_EQ(had[Precision::tf32], 0);
  EXPECT_GE(had[Precision::int8], shapes / 2);
  EXPECT_EQ(had[Precision::bf16], had[Precision::bf16_fp32]);
  for (const char* text : {"m300n200k257", "m1760n16k1760beta1", "m35n70k2048beta1ta"})
    EXPECT_TRUE(verify("onednn", text, Precision::fp32, 2)) << text;
}

TEST(GemmBackends, NativeHasFp8Alone) {
  constexpr int shapes = 24;
  for (const auto& [precision, count] : verify_random("native", shapes))
    EXPECT_EQ(count, is_fp8(precision) ? shapes : 0) << name(precision);
  for (const Precision precision : {Precision::fp8_e4m3, Precision::fp8_e5m2})
    for (const char* text :
         {"m300n200k257", "m176n16k1760beta1", "m35n70k2048beta1ta", "m16n97k1100b3tb"})
      EXPECT_TRUE(verify("native", text, precision, 2)) << text;
  EXPECT_NE(refusal("native", "m8n8k8", Precision::fp32).find("fp8 alone"), std::string::npos);
  EXPECT_NE(refusal("onednn", "m8n8k8", Precision::fp8_e4m3), "");
  EXPECT_NE(refusal("blas", "m8n8k8", Precision::fp8_e5m2), "");
}

TEST(GemmBackends, BlasHasWhatTheLibraryHas) {
  if (const std::string why = refusal("blas", "m8n8k8", Precision::fp32, 2); !why.empty())
    GTEST_SKIP() << why;
  constexpr int shapes = 24;
  std::map<Precision, int> had = verify_random("blas", shapes);
  EXPECT_EQ(had[Precision::fp32], shapes);
  EXPECT_EQ(had[Precision::fp64], shapes);
  for (const Precision precision :
       {Precision::tf32, Precision::bf16, Precision::fp16, Precision::int8})
    EXPECT_EQ(had[precision], 0) << name(precision);
  for (const char* text : {"m300n200k257", "m1760n16k1760beta1", "m35n70k2048beta1ta"})
    EXPECT_TRUE(verify("blas", text, Precision::fp32, 2)) << text;
  EXPECT_NE(refusal("blas", "m8n8k8", Precision::fp16).find("no function of CBLAS for fp16"),
            std::string::npos);
}

/// The verification of a product that is right but for one element.
Verification verify_broken(Backend& backend, const GemmProblem& problem,
                           std::optional<double> error, std::string& refused) {
  static const auto ranks = make_serial_communicator();
  Options options;
  options.threads = 2;
  Result<std::unique_ptr<Operation>> made = backend.make(problem, options, *ranks);
  if (const auto* const why = std::get_if<Unsupported>(&made)) {
    refused = why->reason;
    return {};
  }
  Device& device = *std::get<Device*>(backend.device(options));
  broken::Fault fault;
  fault.output = "c";
  fault.error = error;
  auto operation = std::make_unique<broken::BrokenOperation>(
      std::move(std::get<std::unique_ptr<Operation>>(made)), device, fault);
  OperationSetup setup;
  if (size_of(problem.tensors().back().type) == 2) setup.reference_budget = 1e9;
  return make_operation_workload(problem, std::move(operation), device, make_gemm_oracle(problem),
                                 0, setup)
      ->verify_before();
}

/// Shapes that are not small, whose samples are a part, are tried, too: the checksum finds the
/// element, unless results are rounded to 16 bits; of these all are compared.
TEST(GemmVerification, FindsOneWrongElementNaNAndInfinity) {
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  std::map<std::string, int> had;
  for (const char* name : {"reference", "native", "onednn", "blas"}) {
    Result<Backend*> opened = plugins.open(name);
    if (std::holds_alternative<Unsupported>(opened)) continue;
    for (const char* text : {"m5n7k9", "m300n200k257beta1", "m96n80k64b3tb"})
      for (const Precision precision : all_precisions)
        for (const std::optional<double> error :
             {std::optional<double>(), std::optional(std::nan("")), std::optional(HUGE_VAL)}) {
          if (precision == Precision::int8 && error) continue;  // integers have neither
          const GemmProblem problem(parse_gemm(text), precision);
          std::string refused;
          const Verification found =
              verify_broken(*std::get<Backend*>(opened), problem, error, refused);
          if (!refused.empty()) continue;
          ++had[name];
          EXPECT_TRUE(found.wrong())
              << name << " " << text << " " << problem.json() << " " << error.value_or(1);
          EXPECT_TRUE(found.reason.starts_with("c")) << found.reason;
        }
  }
  EXPECT_GE(had["reference"], 3 * 3 * 7);
  EXPECT_EQ(had["native"], 3 * 3 * 2);
}

TEST(GemmBackends, RefuseWithAReason) {
  EXPECT_NE(refusal("reference", "m8n8k8", Precision::tf32).find("no tf32"), std::string::npos);
  for (const char* backend : {"reference", "onednn"}) {
    const std::string why = refusal(backend, "m8n8k8alpha0.5", Precision::int8);
    EXPECT_TRUE(why.find("would be rounded") != std::string::npos ||
                why.find("unavailable") != std::string::npos)
        << why;
  }
}

}  // namespace test_gemm_backends
}  // namespace assay
