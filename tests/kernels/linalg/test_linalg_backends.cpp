// The backends of the dense kernels of data analysis, through the plugins as the programs load
// them, by both passes of verification.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <random>
#include <tuple>

#include "assay/test_paths.hpp"
#include "core/program/suite.hpp"
#include "kernels/linalg/benchmark.hpp"
#include "kernels/linalg/problem.hpp"
#include "trial.hpp"

namespace assay {
namespace test_linalg_backends {

using WorkloadResult = Result<std::unique_ptr<Workload>>;

WorkloadResult prepare(const std::string& backend, const std::string& problem,
                       const std::string& precision, int threads = 1) {
  return kernel_test::prepare(linalg_benchmark(), {{"problem", problem},
                                                   {"precision", precision},
                                                   {"backend", backend},
                                                   {"threads", std::to_string(threads)}});
}

std::string refusal(const std::string& backend, const std::string& problem,
                    const std::string& precision) {
  const WorkloadResult made = prepare(backend, problem, precision);
  const auto* const why = std::get_if<Unsupported>(&made);
  return why == nullptr ? "" : why->reason;
}

void verify(const std::string& backend, const std::string& problem, const std::string& precision,
            int threads) {
  const std::string what = backend + " " + problem + " " + precision;
  WorkloadResult made = prepare(backend, problem, precision, threads);
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
  EXPECT_EQ(workload.execution().storage, precision) << what;
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
    verify(backend, shape(4200, 250, 16), precision, 2);
}

/// The random derivatives of an oracle's draw are never exactly 0 or 1, as most of a separator's
/// are. The observations are 1, 2, 4, …, so that the first column of h tells which were selected.
void select_between(const std::string& backend, Precision precision) {
  const LinalgProblem problem(parse_linalg("hinge_hessian:n6d1"), precision);
  Plugins plugins({std::filesystem::path(ASSAY_BUILD_DIR) / "lib" / "assay"});
  const auto ranks = make_serial_communicator();
  Backend& of = *std::get<Backend*>(plugins.open(backend));
  Device& device = *std::get<Device*>(of.device({}));
  auto made = of.make(problem, {}, *ranks);
  ASSERT_FALSE(std::holds_alternative<Unsupported>(made)) << backend;
  Operation& operation = *std::get<std::unique_ptr<Operation>>(made);
  std::map<std::string, std::unique_ptr<Tensor>> tensors;
  std::vector<Tensor*> bound;
  for (const TensorSpec& spec : operation.arguments()) {
    tensors[spec.name] = device.allocate(spec);
    bound.push_back(tensors[spec.name].get());
  }
  operation.bind(bound);
  const auto put = [&](const char* name, std::vector<double> values) {
    device.put(*tensors[name], [&](std::int64_t first, std::span<double> out) {
      std::copy_n(values.begin() + first, out.size(), out.begin());
    });
  };
  put("x", {1, 2, 4, 8, 16, 32});
  for (const auto& [s, sum, count] :
       {std::tuple{std::vector<double>{0, 1, 0.5, -1, 2, 0.25}, 36, 2},
        std::tuple{std::vector<double>{0, 1, 1, 0, 0, 1}, 0, 0}}) {
    put("s", s);
    operation.run(device.stream());
    device.stream().wait();
    std::vector<double> h(4);
    device.get(*tensors["h"], [&](std::int64_t first, std::span<const double> in) {
      std::copy(in.begin(), in.end(), h.begin() + first);
    });
    EXPECT_EQ(
        h, (std::vector<double>{count == 0 ? 0.0 : 16 + 1024, 1.0 * sum, 1.0 * sum, 1.0 * count}))
        << backend;
  }
}

TEST(LinalgBackends, HessianIsOfDerivativesBetweenZeroAndOneAlone) {
  for (const char* backend : {"native", "blas", "reference"}) {
    if (!refusal(backend, "hinge_hessian:n6d1", "fp64").empty()) continue;
    for (const Precision precision : {Precision::fp64, Precision::fp32})
      select_between(backend, precision);
  }
}

TEST(LinalgBackends, ReferenceComputesEveryKernel) {
  for (const char* kernel : {"syrk", "moments", "kmeans_assign", "hinge", "hinge_hessian"})
    verify_shapes("reference", kernel);
}

TEST(LinalgBackends, BlasComputesEveryKernel) {
  if (const std::string why = refusal("blas", "syrk:n8d8", "fp64"); !why.empty())
    GTEST_SKIP() << why;
  for (const char* kernel : {"syrk", "moments", "kmeans_assign", "hinge", "hinge_hessian"})
    verify_shapes("blas", kernel);
}

}  // namespace test_linalg_backends
}  // namespace assay
