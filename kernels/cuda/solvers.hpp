#pragma once
// cuBLAS and cuSOLVER. They are opened when the first kernel of data analysis is created, because
// convolutions and matrix products run without them.

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cstdint>
#include <string>

#include "core/base/unsupported.hpp"

namespace assay::cuda {

/// cuBLAS's functions for one type of elements.
template <class Real>
struct BlasOf {
  cublasStatus_t (*syrk)(cublasHandle_t, cublasFillMode_t, cublasOperation_t, std::int64_t n,
                         std::int64_t k, const Real* alpha, const Real* a, std::int64_t lda,
                         const Real* beta, Real* c, std::int64_t ldc);
  /// c = alpha op(a) + beta op(b), all m x n.
  cublasStatus_t (*geam)(cublasHandle_t, cublasOperation_t, cublasOperation_t, std::int64_t m,
                         std::int64_t n, const Real* alpha, const Real* a, std::int64_t lda,
                         const Real* beta, const Real* b, std::int64_t ldb, Real* c,
                         std::int64_t ldc);
  /// c = diag(x) a, m x n, with CUBLAS_SIDE_LEFT; c may be a.
  cublasStatus_t (*dgmm)(cublasHandle_t, cublasSideMode_t, std::int64_t m, std::int64_t n,
                         const Real* a, std::int64_t lda, const Real* x, std::int64_t step, Real* c,
                         std::int64_t ldc);
  cublasStatus_t (*copy)(cublasHandle_t, std::int64_t n, const Real* x, std::int64_t step, Real* y,
                         std::int64_t step_of_y);
  /// Copies a triangle to packed memory, and back; the other triangle is not accessed.
  cublasStatus_t (*pack)(cublasHandle_t, cublasFillMode_t, int n, const Real* a, int lda,
                         Real* packed);
  cublasStatus_t (*unpack)(cublasHandle_t, cublasFillMode_t, int n, const Real* packed, Real* a,
                           int lda);
  cublasStatus_t (*scal)(cublasHandle_t, std::int64_t n, const Real* alpha, Real* x,
                         std::int64_t step);
};

struct Blas {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasGetVersion_v2) version;
  decltype(&cublasGetStatusString) words;
  /// Products of `count` pairs of matrices in fp64: c [m, n] = alpha op(a) op(b) + beta c.
  cublasStatus_t (*gemms)(cublasHandle_t, cublasOperation_t, cublasOperation_t, std::int64_t m,
                          std::int64_t n, std::int64_t k, const double* alpha, const double* a,
                          std::int64_t lda, long long step_of_a, const double* b, std::int64_t ldb,
                          long long step_of_b, const double* beta, double* c, std::int64_t ldc,
                          long long step_of_c, std::int64_t count);
  BlasOf<double> fp64;
  BlasOf<float> fp32;

  template <class Real>
  const BlasOf<Real>& functions() const {
    if constexpr (sizeof(Real) == sizeof(double))
      return fp64;
    else
      return fp32;
  }
};

struct Solver {
  decltype(&cusolverDnCreate) create;
  decltype(&cusolverDnDestroy) destroy;
  decltype(&cusolverGetVersion) version;
  decltype(&cusolverDnSetStream) set_stream;
  decltype(&cusolverDnCreateParams) create_params;
  decltype(&cusolverDnDestroyParams) destroy_params;
  decltype(&cusolverDnXsyevd_bufferSize) syevd_size;
  decltype(&cusolverDnXsyevd) syevd;
  decltype(&cusolverDnXgeqrf_bufferSize) geqrf_size;
  decltype(&cusolverDnXgeqrf) geqrf;
};

/// The library in the version with which this plugin was compiled; Unsupported has the loader's
/// message. It stays open.
Result<const Blas*> blas();
Result<const Solver*> solver();

/// Throws CaseError with the library's name for the status, unless it is success.
void check_blas(cublasStatus_t status, const std::string& what);
void check_solver(cusolverStatus_t status, const std::string& what);

}  // namespace assay::cuda
