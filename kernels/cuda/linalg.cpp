// The Gram matrix by cuBLAS, and the choice of an operation for each kernel of data analysis.

#include "kernels/cuda/linalg.hpp"

#include <limits>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/oracle/refused_algorithm.hpp"

namespace assay::cuda {
namespace {

/// cuBLAS writes one triangle of the scratch memory.
template <class Real>
class Syrk final : public LinalgOperation {
 public:
  Syrk(const LinalgProblem& problem, const Blas& blas) : LinalgOperation(problem, blas, "direct") {
    int version = 0;
    check_blas(blas_.version(handle_, &version), "asking cuBLAS for its version");
    execution_.implementation = fmt::format("cuBLAS {} syrk", version);
    add_scratch("triangle", arguments_[1].bytes);
  }

  void run(Stream& stream) override {
    const BlasOf<Real>& blas_functions = blas_.functions<Real>();
    const std::int64_t n = shape_.n, d = shape_.d;
    Real *const c = data<Real>(1), *const t = data<Real>(2);
    check_blas(blas_.set_stream(handle_, cuda_stream(stream)), what_);
    check(cudaMemsetAsync(t, 0, arguments_[1].bytes, cuda_stream(stream)), what_);
    check_blas(blas_functions.syrk(handle_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, d, n, &one<Real>,
                                   data<Real>(0), d, &zero<Real>, t, d),
               what_);
    add_transposed(blas_functions, handle_, d, t, c, what_);
  }
};

std::string name_algorithm(LinalgKernel kernel) {
  switch (kernel) {
    case LinalgKernel::eigh:
      return "divide_and_conquer";
    case LinalgKernel::qr:
      return "householder";
    default:
      return "direct";
  }
}

Result<std::unique_ptr<LinalgOperation>> make_by_libraries(const LinalgProblem& problem,
                                                           const Facts& gpu) {
  const Result<const Blas*> library = blas();
  if (const auto* const why = std::get_if<Unsupported>(&library)) return *why;
  const Blas& blas_table = *std::get<const Blas*>(library);
  switch (problem.shape().kernel) {
    case LinalgKernel::syrk:
      if (problem.precision() == Precision::fp64)
        return std::make_unique<Syrk<double>>(problem, blas_table);
      return std::make_unique<Syrk<float>>(problem, blas_table);
    case LinalgKernel::moments:
    case LinalgKernel::hinge_hessian:
      return make_outer_products(problem, blas_table, gpu);
    default:
      break;
  }
  const Result<const Solver*> solvers = solver();
  if (const auto* const why = std::get_if<Unsupported>(&solvers)) return *why;
  const Solver& by = *std::get<const Solver*>(solvers);
  return problem.shape().kernel == LinalgKernel::eigh ? make_eigh(problem, blas_table, by)
                                                      : make_qr(problem, blas_table, by);
}

Result<std::unique_ptr<Operation>> make_linalg(Device& place, const Problem& what,
                                               const Options& options, Communicator&) {
  const auto& problem = problem_cast<LinalgProblem>(what);
  const LinalgKernel kernel = problem.shape().kernel;
  const std::string known = name_algorithm(kernel);
  if (auto why = refuse_algorithm(options, "cuda", {known}, name(kernel), "it is " + known))
    return std::move(*why);
  if (kernel == LinalgKernel::qr && problem.shape().n > std::numeric_limits<int>::max())
    return Unsupported{fmt::format(
        "cuBLAS packs triangles of matrices of up to 2^31 - 1 rows, of which there are {}. Use "
        "fewer observations.",
        problem.shape().n)};
  auto& device = static_cast<CudaDevice&>(place);
  for (const Precision used : {problem.precision(), Precision::fp64})  // sums of fp32 are fp64
    if (std::string why = why_not_precision(used, device.facts()); !why.empty())
      return Unsupported{std::move(why)};
  const int processors = device.facts().processors;
  if (kernel == LinalgKernel::hinge) return make_hinge(problem, processors);
  if (kernel == LinalgKernel::kmeans_assign) return make_kmeans_assign(problem, processors);
  Result<std::unique_ptr<LinalgOperation>> made_operation =
      make_by_libraries(problem, device.facts());
  if (const auto* const why = std::get_if<Unsupported>(&made_operation)) return *why;
  auto& operation = std::get<std::unique_ptr<LinalgOperation>>(made_operation);
  if (const auto why = operation->prove(device))
    return Unsupported{
        fmt::format("{} ({} {})", *why, name(problem.precision()), what.canonical())};
  return std::unique_ptr<Operation>(std::move(operation));
}

const Maker add_linalg{makers(),
                       problem_kind<LinalgProblem>(),
                       &make_linalg,
                       {"direct", "divide_and_conquer", "householder"}};

}  // namespace
}  // namespace assay::cuda
