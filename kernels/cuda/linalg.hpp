#pragma once
// The dense kernels of data analysis by cuBLAS and cuSOLVER. Both libraries store matrices by
// columns, so they read a row-major matrix as its transpose.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cuda/solvers.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "kernels/linalg/problem.hpp"
#include "support/cuda/device.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {

/// Constant factors; the libraries read them through pointers.
template <class Real>
inline constexpr Real zero = 0;
template <class Real>
inline constexpr Real half = Real(0.5);
template <class Real>
inline constexpr Real one = 1;
template <class Real>
inline constexpr cudaDataType library_type = std::is_same_v<Real, double> ? CUDA_R_64F : CUDA_R_32F;

class LinalgOperation : public BoundOperation {
 public:
  LinalgOperation(const LinalgProblem& problem, const Blas& blas, const char* algorithm)
      : BoundOperation(problem.tensors()),
        blas_(blas),
        shape_(problem.shape()),
        precision_(problem.precision()),
        what_(problem.canonical()) {
    check_blas(blas_.create(&handle_), "starting cuBLAS");
    execution_.algorithm = algorithm;
    execution_.storage = execution_.compute = execution_.accumulate = std::string(name(precision_));
    execution_.layout = "rows";
    execution_.evidence = "numerical";  // the bounds of fp32 exclude tf32
  }
  ~LinalgOperation() override { blas_.destroy(handle_); }
  LinalgOperation(const LinalgOperation&) = delete;
  LinalgOperation& operator=(const LinalgOperation&) = delete;

  /// Runs once and records the kernels. Returns the reason why they do not have the requested
  /// arithmetic; nothing if they do.
  std::optional<std::string> prove(CudaDevice& device) {
    const std::optional<KernelMeaning> seen = trial_run(device, *this, what_);
    if (!seen) return std::nullopt;
    execution_.implementation += ": " + seen->names;
    const std::string why = note_kernels(*seen, precision_, execution_);
    return why.empty() ? std::nullopt : std::optional(why);
  }

 protected:
  void add_scratch(const char* what, std::size_t bytes) {
    arguments_.push_back(bytes_tensor(what, Role::workspace, bytes));
    execution_.workspace_bytes += bytes;
  }

  const Blas& blas_;
  LinalgShape shape_;
  Precision precision_;
  std::string what_;
  cublasHandle_t handle_ = nullptr;
};

/// cuSOLVER's handles.
class Dense {
 public:
  explicit Dense(const Solver& solver) : solver_(solver) {
    check_solver(solver_.create(&handle_), "starting cuSOLVER");
    check_solver(solver_.create_params(&params_), "starting cuSOLVER");
  }
  ~Dense() {
    solver_.destroy_params(params_);
    solver_.destroy(handle_);
  }
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;
  const Solver* operator->() const { return &solver_; }
  cusolverDnHandle_t handle() const { return handle_; }
  cusolverDnParams_t params() const { return params_; }
  /// "cuSOLVER 12000 Xsyevd"
  std::string describe_function(const char* function) const {
    int version = 0;
    check_solver(solver_.version(&version), "asking cuSOLVER for its version");
    return fmt::format("cuSOLVER {} {}", version, function);
  }

 private:
  const Solver& solver_;
  cusolverDnHandle_t handle_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
};

/// c = t + t^T, where t [d, d] is a triangle and its other half is 0. The sum contains the diagonal
/// twice; halving it afterwards rounds nothing.
template <class Real>
void add_transposed(const BlasOf<Real>& blas, cublasHandle_t handle, std::int64_t d, const Real* t,
                    Real* c, const std::string& what) {
  check_blas(
      blas.geam(handle, CUBLAS_OP_N, CUBLAS_OP_T, d, d, &one<Real>, t, d, &one<Real>, t, d, c, d),
      what);
  check_blas(blas.scal(handle, d, &half<Real>, c, d + 1), what);
}

/// It serves moments and hinge_hessian.
std::unique_ptr<LinalgOperation> make_outer_products(const LinalgProblem& problem, const Blas& blas,
                                                     const Facts& gpu);
/// Only our own kernels compute it, as hinge. `processors`: the multiprocessors of the GPU.
std::unique_ptr<Operation> make_kmeans_assign(const LinalgProblem& problem, int processors);
std::unique_ptr<Operation> make_hinge(const LinalgProblem& problem, int processors);
std::unique_ptr<LinalgOperation> make_eigh(const LinalgProblem& problem, const Blas& blas,
                                           const Solver& solver);
std::unique_ptr<LinalgOperation> make_qr(const LinalgProblem& problem, const Blas& blas,
                                         const Solver& solver);

}  // namespace assay::cuda
