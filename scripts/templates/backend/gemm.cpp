// example, a backend of Assay: C = alpha op(A) op(B) + beta C in fp32, by three loops.
#include <nlohmann/json.hpp>
#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "kernels/gemm/problem.hpp"  // the shape, and the order of the elements in memory
using namespace assay;

struct Gemm final : BoundOperation {
  const GemmShape s;
  const int threads;
  Gemm(const GemmProblem& problem, int threads) : BoundOperation(problem.tensors()), s(problem.shape()), threads(threads) {
    execution_.algorithm = "direct";
    execution_.storage = execution_.compute = execution_.accumulate = "fp32";
  }
  void run(Stream&) override {
    const float *const a = data<float>(0), *const b = data<float>(1);
#pragma omp parallel for num_threads(threads)
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.m; ++i) {
        float sum = 0, &c = data<float>(2)[j * s.ldc + i];
        for (std::int64_t p = 0; p < s.k; ++p)
          sum += a[s.ta ? i * s.lda + p : p * s.lda + i] * b[s.tb ? p * s.ldb + j : j * s.ldb + p];
        c = float(s.alpha) * sum + (s.beta == 0 ? 0 : float(s.beta) * c);
      }
  }
};
Result<std::unique_ptr<Operation>> make_gemm(Device&, const Problem& asked, const Options& options, Communicator&) {
  const auto& problem = problem_cast<GemmProblem>(asked);
  const std::string algorithm = options.get("algorithm", "auto");
  if (problem.precision() != Precision::fp32 || problem.shape().batch > 1 || (algorithm != "auto" && algorithm != "direct"))
    return Unsupported{"example computes fp32 without a batch, by the algorithm direct"};
  return std::make_unique<Gemm>(problem, options.threads);
}
const Makers makers{{GemmProblem::kind_name, {GemmProblem::kind_version, &make_gemm, {"direct"}}}};
struct Plugin final : HostBackend {
  Plugin() : HostBackend(makers) {}
  std::string name() const override { return "example"; }
  nlohmann::json software() const override { return {{"example", "0.1"}}; }
};
ASSAY_BACKEND([](std::string&) -> Backend* { return new Plugin; })  // assay-gemm --backend example --problem m64n48k100
