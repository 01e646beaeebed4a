// The dense kernels of data analysis by CBLAS, and by the LAPACK in the same library.

#include "kernels/blas/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/blas/backend.hpp"

namespace assay::blas {
namespace {

template <class Int, class Real>
class Syrk final : public Operation {
 public:
  Syrk(const LinalgProblem& problem, const std::string& name, void* function, int threads)
      : shape_(problem.shape()),
        arguments_(problem.tensors()),
        call_(reinterpret_cast<SyrkFunction<Int, Real>>(function)),
        threads_(threads) {
    executed_ = executed_by(name, problem, "direct");
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    x_ = static_cast<const Real*>(tensors[0]->data());
    c_ = static_cast<Real*>(tensors[1]->data());
    library().use_threads(threads_);
  }

  void run(Stream&) override {
    const auto d = static_cast<Int>(shape_.d);
    call_(row_major, lower, transpose, d, static_cast<Int>(shape_.n), Real(1), x_, d, Real(0), c_,
          d);
    mirror(c_, shape_.d);
  }

  Executed executed() const override { return executed_; }

 private:
  LinalgShape shape_;
  std::vector<TensorSpec> arguments_;
  SyrkFunction<Int, Real> call_;
  int threads_;
  const Real* x_ = nullptr;
  Real* c_ = nullptr;
  Executed executed_;
};

template <class Int>
std::unique_ptr<Operation> made(const LinalgProblem& problem, const std::string& name,
                                void* function, int threads) {
  if (problem.precision() == Precision::fp64)
    return std::make_unique<Syrk<Int, double>>(problem, name, function, threads);
  return std::make_unique<Syrk<Int, float>>(problem, name, function, threads);
}

/// Empty: a kernel that neither BLAS nor LAPACK has.
std::string algorithm_of(LinalgKernel kernel) {
  switch (kernel) {
    case LinalgKernel::syrk:
    case LinalgKernel::moments:
      return "direct";
    case LinalgKernel::eigh:
      return "divide_and_conquer";
    case LinalgKernel::qr:
      return "tsqr";
    default:
      return "";
  }
}

Result<std::unique_ptr<Operation>> make_linalg(Device&, const Problem& problem,
                                               const Options& options, Communicator&) {
  const auto& linalg = problem_cast<LinalgProblem>(problem);
  const LinalgShape& s = linalg.shape();
  const std::string known = algorithm_of(s.kernel);
  if (known.empty())
    return Unsupported{fmt::format("blas has no kernel {} of linalg.", name(s.kernel))};
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm != "auto" && algorithm != known)
    return Unsupported{fmt::format("blas has no algorithm {} for {} (it is {}). Use auto.",
                                   algorithm, name(s.kernel), known)};
  if (!library().wide() && std::max(s.n, s.d) > std::numeric_limits<std::int32_t>::max())
    return Unsupported{fmt::format(
        "{} has 32-bit integers (LP64), which do not hold {}. Use a library with 64-bit ones.",
        library().file(), std::max(s.n, s.d))};
  const int threads = std::max(1, options.threads);
  if (s.kernel == LinalgKernel::eigh) return make_eigh(linalg, threads);
  if (s.kernel == LinalgKernel::qr) return make_qr(linalg, threads);
  const bool fp64 = s.kernel == LinalgKernel::moments || linalg.precision() == Precision::fp64;
  const std::string symbol = fp64 ? "cblas_dsyrk" : "cblas_ssyrk";
  void* const function = library().function(symbol);
  if (function == nullptr) return Unsupported{library().why_not(symbol)};
  if (s.kernel == LinalgKernel::moments) return make_moments(linalg, function, threads);
  return library().wide() ? made<std::int64_t>(linalg, symbol, function, threads)
                          : made<std::int32_t>(linalg, symbol, function, threads);
}

const Maker add_linalg{
    makers(), kind_of<LinalgProblem>(), &make_linalg, {"direct", "divide_and_conquer", "tsqr"}};

}  // namespace

Executed executed_by(const std::string& function, const LinalgProblem& problem,
                     const std::string& algorithm) {
  Executed executed;
  executed.algorithm = algorithm;
  executed.implementation = fmt::format("{} {}", library().version(), function);
  executed.storage = executed.compute = executed.accumulate =
      std::string(name(problem.precision()));
  executed.evidence = "numerical";  // the bounds of fp32 exclude tf32 and bf16
  executed.layout = "rows";
  return executed;
}

}  // namespace assay::blas
