// The backends of the dense kernels of data analysis, through the plugins as the programs load
// them, by both passes of verification.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>

#include "assay/test_paths.hpp"
#include "core/program/suite.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay {
namespace {

using Made = Result<std::unique_ptr<Workload>>;

Made prepare(const std::string& backend, const std::string& problem, const std::string& precision,
             int threads = 1) {
  static Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  static const auto ranks = serial_communicator();
  CaseContext context{plugins, *ranks};
  const std::vector<Case> cases = expand(linalg_benchmark(),
                                         {{"problem", {problem}},
                                          {"precision", {precision}},
                                          {"backend", {backend}},
                                          {"threads", {std::to_string(threads)}}},
                                         plugins);
  return linalg_benchmark().prepare(cases.at(0), context);
}

std::string refusal(const std::string& backend, const std::string& problem,
                    const std::string& precision) {
  const Made made = prepare(backend, problem, precision);
  const auto* const why = std::get_if<Unsupported>(&made);
  return why == nullptr ? "" : why->reason;
}

void verify(const std::string& backend, const std::string& problem, const std::string& precision,
            int threads) {
  const std::string what = backend + " " + problem + " " + precision;
  Made made = prepare(backend, problem, precision, threads);
  if (const auto* const why = std::get_if<Unsupported>(&made)) FAIL() << what << why->reason;
  Workload& workload = *std::get<std::unique_ptr<Workload>>(made);
  const Verification before = workload.verify_before();
  ASSERT_TRUE(before.passed) << what << ": " << before.reason;
  // No integer is a derivative that selects an observation, and no root is an integer.
  const std::string kernel = problem.substr(0, problem.find(':'));
  EXPECT_EQ(before.exact, kernel != "hinge_hessian" && kernel != "eigh" && kernel != "qr") << what;
  for (int i = 0; i < 2; ++i) {
    workload.reset();
    workload.run(workload.stream());
  }
  const Verification after = workload.verify_after();
  ASSERT_TRUE(after.passed) << what << ": " << after.reason;
  EXPECT_EQ(workload.executed().storage, precision) << what;
}

void verify_factorizations(const std::string& backend) {
  std::mt19937 random(9);
  for (int i = 0; i < 30; ++i)
    for (const char* precision : {"fp64", "fp32"}) {
      const auto d = 1 + random() % 70;
      verify(backend, fmt::format("eigh:d{}", d), precision, 1 + i % 2);
      verify(backend, fmt::format("qr:n{}d{}", d + random() % 300, d), precision, 1 + i % 2);
      if (testing::Test::HasFailure()) return;
    }
  for (const char* precision : {"fp64", "fp32"}) {
    verify(backend, "eigh:d250", precision, 2);
    verify(backend, "qr:n9000d33", precision, 2);
    verify(backend, "qr:n1000d250", precision, 2);
  }
}

TEST(LinalgBackends, ReferenceFactorizes) { verify_factorizations("reference"); }

TEST(LinalgBackends, BlasFactorizes) {
  if (const std::string why = refusal("blas", "eigh:d8", "fp64"); !why.empty()) GTEST_SKIP() << why;
  verify_factorizations("blas");
}

/// Random shapes of a kernel, and one beside which every block of rows is small.
void verify_shapes(const std::string& backend, const std::string& kernel) {
  std::mt19937 random(8);
  const auto shape = [&](std::uint64_t n, std::uint64_t d, std::uint64_t k) {
    return fmt::format("{}:n{}d{}{}", kernel, n, d,
                       kernel == "kmeans_assign" ? fmt::format("k{}", k) : "");
  };
  for (int i = 0; i < 15; ++i)
    for (const char* precision : {"fp64", "fp32"}) {
      verify(backend, shape(1 + random() % 300, 1 + random() % 70, 1 + random() % 40), precision,
             1 + i % 3);
      if (testing::Test::HasFailure()) return;
    }
  for (const char* precision : {"fp64", "fp32"})
    verify(backend, shape(9000, 250, 16), precision, 2);
}

TEST(LinalgBackends, ReferenceComputesEveryKernel) {
  for (const char* kernel : {"syrk", "moments", "kmeans_assign", "hinge", "hinge_hessian"})
    verify_shapes("reference", kernel);
}

TEST(LinalgBackends, BlasComputesEveryKernelThatItHas) {
  if (const std::string why = refusal("blas", "syrk:n8d8", "fp64"); !why.empty())
    GTEST_SKIP() << why;
  for (const char* kernel : {"syrk", "moments"}) verify_shapes("blas", kernel);
}

}  // namespace
}  // namespace assay
