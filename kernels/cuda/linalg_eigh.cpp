// Eigenvalues and eigenvectors by cuSOLVER's Xsyevd. The lower triangle of a row-major matrix is
// the upper triangle for cuSOLVER. It overwrites a copy of a with the eigenvectors; their transpose
// is v.

#include "kernels/cuda/linalg.hpp"

#include <algorithm>

namespace assay::cuda {
namespace {

template <class Real>
class Eigh final : public LinalgOperation {
 public:
  Eigh(const LinalgProblem& problem, const Blas& blas, const Solver& solver)
      : LinalgOperation(problem, blas, "divide_and_conquer"), dense_(solver) {
    execution_.implementation = dense_.describe_function("Xsyevd");
    const auto some = gpu_memory(64, "eigh");  // only its address is used
    std::size_t on_host = 0;
    check_solver(dense_->syevd_size(dense_.handle(), dense_.params(), CUSOLVER_EIG_MODE_VECTOR,
                                    CUBLAS_FILL_MODE_UPPER, shape_.d, library_type<Real>,
                                    some.get(), shape_.d, library_type<Real>, some.get(),
                                    library_type<Real>, &on_device_, &on_host),
                 "asking cuSOLVER for its workspace");
    host_.resize(on_host);
    add_scratch("copy", arguments_[0].bytes);
    add_scratch("workspace", std::max<std::size_t>(on_device_, 1));
    add_scratch("info", sizeof(int));
  }

  void run(Stream& stream) override {
    const std::int64_t d = shape_.d;
    Real* const copy = data<Real>(3);
    const cudaStream_t on = cuda_stream(stream);
    check_blas(blas_.set_stream(handle_, on), what_);
    check_solver(dense_->set_stream(dense_.handle(), on), what_);
    check(cudaMemcpyAsync(copy, data_[0], arguments_[0].bytes, cudaMemcpyDeviceToDevice, on),
          what_);
    check_solver(dense_->syevd(dense_.handle(), dense_.params(), CUSOLVER_EIG_MODE_VECTOR,
                               CUBLAS_FILL_MODE_UPPER, d, library_type<Real>, copy, d,
                               library_type<Real>, data_[1], library_type<Real>, data_[4],
                               on_device_, host_.data(), host_.size(), data<int>(5)),
                 what_);
    check_blas(blas_.functions<Real>().geam(handle_, CUBLAS_OP_T, CUBLAS_OP_T, d, d, &one<Real>,
                                            copy, d, &zero<Real>, copy, d, data<Real>(2), d),
               what_);
  }

 private:
  Dense dense_;
  std::size_t on_device_ = 0;
  std::vector<std::byte> host_;
};

}  // namespace

std::unique_ptr<LinalgOperation> make_eigh(const LinalgProblem& problem, const Blas& blas,
                                           const Solver& solver) {
  if (problem.precision() == Precision::fp64)
    return std::make_unique<Eigh<double>>(problem, blas, solver);
  return std::make_unique<Eigh<float>>(problem, blas, solver);
}

}  // namespace assay::cuda
