// The triangular factor of a table by cuSOLVER's Xgeqrf. It requires columns and overwrites them,
// so it gets a transposed copy. cuBLAS cannot copy a triangle, but it can pack triangles. The signs
// of the diagonal go to the host and back, and run() waits for them.

#include "kernels/cuda/linalg.hpp"

#include <algorithm>
#include <cstdint>

namespace assay::cuda {
namespace {

template <class Real>
class Qr final : public LinalgOperation {
 public:
  Qr(const LinalgProblem& problem, const Blas& blas, const Solver& solver)
      : LinalgOperation(problem, blas, "householder"),
        dense_(solver),
        signs_(static_cast<std::size_t>(shape_.d)) {
    execution_.implementation = dense_.describe_function("Xgeqrf");
    const auto some = gpu_memory(64, "qr");  // only its address is used
    std::size_t on_host = 0;
    check_solver(dense_->geqrf_size(dense_.handle(), dense_.params(), shape_.n, shape_.d,
                                    library_type<Real>, some.get(), shape_.n, library_type<Real>,
                                    some.get(), library_type<Real>, &on_device_, &on_host),
                 "asking cuSOLVER for its workspace");
    host_.resize(on_host);
    const std::size_t column = signs_.size() * sizeof(Real);
    add_scratch("columns", arguments_[0].bytes);
    add_scratch("tau", column);
    add_scratch("triangle", arguments_[1].bytes);
    add_scratch("packed", arguments_[1].bytes);
    add_scratch("signs", column);
    add_scratch("workspace", std::max<std::size_t>(on_device_, 1));
    add_scratch("info", sizeof(int));
  }

  void run(Stream& stream) override {
    const BlasOf<Real>& blas_functions = blas_.functions<Real>();
    const std::int64_t n = shape_.n, d = shape_.d;
    Real *const x = data<Real>(0), *const columns = data<Real>(2);
    const cudaStream_t on = cuda_stream(stream);
    check_blas(blas_.set_stream(handle_, on), what_);
    check_solver(dense_->set_stream(dense_.handle(), on), what_);
    check_blas(blas_functions.geam(handle_, CUBLAS_OP_T, CUBLAS_OP_T, n, d, &one<Real>, x, d,
                                   &zero<Real>, x, d, columns, n),
               what_);
    check_solver(dense_->geqrf(dense_.handle(), dense_.params(), n, d, library_type<Real>, columns,
                               n, library_type<Real>, data_[3], library_type<Real>, data_[7],
                               on_device_, host_.data(), host_.size(), data<int>(8)),
                 what_);
    store(blas_functions, columns, on);
  }

 private:
  /// r by rows, with zeros below the diagonal; the diagonal is nonnegative.
  void store(const BlasOf<Real>& blas, const Real* columns, cudaStream_t on) {
    const std::int64_t d = shape_.d;
    Real *const triangle = data<Real>(4), *const packed = data<Real>(5),
                *const signs = data<Real>(6);
    const std::size_t bytes = signs_.size() * sizeof(Real);
    check(cudaMemsetAsync(triangle, 0, arguments_[1].bytes, on), what_);
    check_blas(blas.pack(handle_, CUBLAS_FILL_MODE_UPPER, static_cast<int>(d), columns,
                         static_cast<int>(shape_.n), packed),
               what_);
    check_blas(blas.unpack(handle_, CUBLAS_FILL_MODE_UPPER, static_cast<int>(d), packed, triangle,
                           static_cast<int>(d)),
               what_);
    check_blas(blas.copy(handle_, d, triangle, d + 1, signs, 1), what_);
    check(cudaMemcpyAsync(signs_.data(), signs, bytes, cudaMemcpyDeviceToHost, on), what_);
    check(cudaStreamSynchronize(on), what_);
    for (Real& sign : signs_) sign = sign < 0 ? Real(-1) : Real(1);
    check(cudaMemcpyAsync(signs, signs_.data(), bytes, cudaMemcpyHostToDevice, on), what_);
    check_blas(blas.dgmm(handle_, CUBLAS_SIDE_LEFT, d, d, triangle, d, signs, 1, triangle, d),
               what_);
    check_blas(blas.geam(handle_, CUBLAS_OP_T, CUBLAS_OP_T, d, d, &one<Real>, triangle, d,
                         &zero<Real>, triangle, d, data<Real>(1), d),
               what_);
  }

  Dense dense_;
  std::vector<Real> signs_;
  std::size_t on_device_ = 0;
  std::vector<std::byte> host_;
};

}  // namespace

std::unique_ptr<LinalgOperation> make_qr(const LinalgProblem& problem, const Blas& blas,
                                         const Solver& solver) {
  if (problem.precision() == Precision::fp64)
    return std::make_unique<Qr<double>>(problem, blas, solver);
  return std::make_unique<Qr<float>>(problem, blas, solver);
}

}  // namespace assay::cuda
