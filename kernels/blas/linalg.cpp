// The dense kernels of data analysis by CBLAS, and by the LAPACK in the same library.

#include "kernels/blas/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "kernels/blas/backend.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::blas {
namespace {

template <class Int, class Real>
class Syrk final : public BlasOperation {
 public:
  Syrk(const LinalgProblem& problem, const std::string& name, void* function, int threads)
      : BlasOperation(problem.tensors(), threads),
        shape_(problem.shape()),
        call_(reinterpret_cast<SyrkFunction<Int, Real>>(function)) {
    execution_ = make_execution(name, problem, "direct");
  }

  void run(Stream&) override {
    use_threads();
    const auto d = static_cast<Int>(shape_.d);
    call_(row_major, lower, transpose, d, static_cast<Int>(shape_.n), Real(1), data<const Real>(0),
          d, Real(0), data<Real>(1), d);
    mirror(data<Real>(1), shape_.d);
  }

 private:
  LinalgShape shape_;
  SyrkFunction<Int, Real> call_;
};

std::string name_algorithm(LinalgKernel kernel) {
  switch (kernel) {
    case LinalgKernel::eigh:
      return "divide_and_conquer";
    case LinalgKernel::qr:
      return "tsqr";
    default:
      return "direct";
  }
}

/// The largest extent in any call. syrk is one call; all other sums over observations call the
/// library for blocks of observations.
std::int64_t largest_extent(const LinalgShape& s) {
  return s.kernel == LinalgKernel::syrk ? std::max(s.n, s.d) : std::max(s.d + 1, s.k);
}

OperationResult make_syrk(const LinalgProblem& problem, int threads) {
  const std::string name = cblas_name("syrk", problem.precision());
  Result<void*> syrk = cblas(name);
  if (auto* const why = std::get_if<Unsupported>(&syrk)) return std::move(*why);
  return make_own<Syrk>(problem.precision(), problem, name, std::get<void*>(syrk), threads);
}

OperationResult make_linalg(Device&, const Problem& problem, const Options& options,
                            Communicator&) {
  const auto& linalg = problem_cast<LinalgProblem>(problem);
  const LinalgShape& s = linalg.shape();
  const std::string known = name_algorithm(s.kernel);
  if (auto why = refuse_algorithm(options, "blas", {known}, name(s.kernel), "it is " + known))
    return std::move(*why);
  if (!library().wide() && largest_extent(s) > std::numeric_limits<std::int32_t>::max())
    return Unsupported{fmt::format(
        "{} has 32-bit integers (LP64), which do not hold {}. Use a library with 64-bit ones.",
        library().file(), largest_extent(s))};
  const int threads = std::max(1, options.threads);
  switch (s.kernel) {
    case LinalgKernel::syrk:
      return make_syrk(linalg, threads);
    case LinalgKernel::moments:
    case LinalgKernel::hinge_hessian:
      return make_outer_products(linalg, threads);
    case LinalgKernel::kmeans_assign:
      return make_kmeans_assign(linalg, threads);
    case LinalgKernel::hinge:
      return make_hinge(linalg, threads);
    case LinalgKernel::eigh:
      return make_eigh(linalg, threads);
    case LinalgKernel::qr:
      return make_qr(linalg, threads);
  }
  throw std::logic_error("unknown kernel of linalg");
}

const Maker add_linalg{makers(),
                       problem_kind<LinalgProblem>(),
                       &make_linalg,
                       {"direct", "divide_and_conquer", "tsqr"}};

}  // namespace

std::string cblas_name(const std::string& function, Precision precision) {
  return fmt::format("cblas_{}{}", precision == Precision::fp64 ? 'd' : 's', function);
}

Result<void*> cblas(const std::string& name) {
  if (void* const function = library().function(name)) return function;
  return Unsupported{library().why_not(name)};
}

Execution make_execution(const std::string& functions, const LinalgProblem& problem,
                         const std::string& algorithm) {
  Execution execution;
  execution.algorithm = algorithm;
  execution.implementation = fmt::format("{} {}", library().version(), functions);
  execution.storage = execution.compute = execution.accumulate =
      std::string(name(problem.precision()));
  execution.evidence = "numerical";  // the bounds of fp32 exclude tf32 and bf16
  execution.layout = "rows";
  return execution;
}

}  // namespace assay::blas
