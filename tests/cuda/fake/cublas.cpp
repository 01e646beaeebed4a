// A fake cuBLAS, of the functions that the kernels of data analysis call: on the host, in the type
// of the elements. For use with LD_PRELOAD, over the fake CUDA runtime.
//   FAKE_CUBLAS_FAILS=1   it does not start
#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/cuda/fake/worked.hpp"

namespace {

/// Element (i, j) of op(a), which is stored by columns.
template <class Real>
Real element(cublasOperation_t op, const Real* a, std::int64_t lda, std::int64_t i,
             std::int64_t j) {
  return op == CUBLAS_OP_T ? a[i * lda + j] : a[j * lda + i];
}

bool in_triangle(cublasFillMode_t triangle, std::int64_t i, std::int64_t j) {
  return triangle == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
}

template <class Real>
cublasStatus_t syrk(cublasFillMode_t triangle, cublasOperation_t op, std::int64_t n, std::int64_t k,
                    Real alpha, const Real* a, std::int64_t lda, Real beta, Real* c,
                    std::int64_t ldc) {
  const fake::WorkScope meanwhile;
  if (lda < (op == CUBLAS_OP_T ? k : n) || ldc < n) return CUBLAS_STATUS_INVALID_VALUE;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      if (!in_triangle(triangle, i, j)) continue;
      Real sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += element(op, a, lda, i, p) * element(op, a, lda, j, p);
      c[j * ldc + i] = alpha * sum + (beta == 0 ? 0 : beta * c[j * ldc + i]);
    }
  return CUBLAS_STATUS_SUCCESS;
}

/// The rule is the real one's: no overlap of c with a transposed operand.
template <class Real>
cublasStatus_t geam(cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                    Real alpha, const Real* a, std::int64_t lda, Real beta, const Real* b,
                    std::int64_t ldb, Real* c, std::int64_t ldc) {
  const fake::WorkScope meanwhile;
  if (lda < (op_a == CUBLAS_OP_T ? n : m) || ldb < (op_b == CUBLAS_OP_T ? n : m) || ldc < m ||
      (c == a && op_a == CUBLAS_OP_T) || (c == b && op_b == CUBLAS_OP_T))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      c[j * ldc + i] = alpha * element(op_a, a, lda, i, j) +
                       (beta == 0 ? 0 : beta * element(op_b, b, ldb, i, j));
  return CUBLAS_STATUS_SUCCESS;
}

template <class Real>
cublasStatus_t gemm(cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                    std::int64_t k, Real alpha, const Real* a, std::int64_t lda, const Real* b,
                    std::int64_t ldb, Real beta, Real* c, std::int64_t ldc) {
  const fake::WorkScope meanwhile;
  if (lda < (op_a == CUBLAS_OP_T ? k : m) || ldb < (op_b == CUBLAS_OP_T ? n : k) || ldc < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::vector<Real> sums(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < n; ++j) {
    std::fill(sums.begin(), sums.end(), Real(0));
    for (std::int64_t p = 0; p < k; ++p) {  // the outer loop: columns of a are adjacent
      const Real of_b = element(op_b, b, ldb, p, j);
      const Real* const of_a = op_a == CUBLAS_OP_T ? a + p : a + p * lda;
      const std::int64_t step = op_a == CUBLAS_OP_T ? lda : 1;
      if (step == 1)
        for (std::int64_t i = 0; i < m; ++i) sums[static_cast<std::size_t>(i)] += of_a[i] * of_b;
      else
        for (std::int64_t i = 0; i < m; ++i)
          sums[static_cast<std::size_t>(i)] += of_a[i * step] * of_b;
    }
    for (std::int64_t i = 0; i < m; ++i)
      c[j * ldc + i] =
          alpha * sums[static_cast<std::size_t>(i)] + (beta == 0 ? 0 : beta * c[j * ldc + i]);
  }
  return CUBLAS_STATUS_SUCCESS;
}

template <class Real>
cublasStatus_t dgmm(cublasSideMode_t side, std::int64_t m, std::int64_t n, const Real* a,
                    std::int64_t lda, const Real* x, std::int64_t step, Real* c, std::int64_t ldc) {
  const fake::WorkScope meanwhile;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i)
      c[j * ldc + i] = a[j * lda + i] * x[(side == CUBLAS_SIDE_LEFT ? i : j) * step];
  return CUBLAS_STATUS_SUCCESS;
}

template <class Real>
void each_of_triangle(cublasFillMode_t triangle, std::int64_t n, Real* a, std::int64_t lda,
                      Real* packed, void (*move)(Real& full, Real& of_packed)) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      if (in_triangle(triangle, i, j)) move(a[j * lda + i], *packed++);
}

}  // namespace

// The functions of one type of elements.
#define FUNCTIONS(P, Real)                                                                         \
  cublasStatus_t cublas##P##syrk_v2_64(cublasHandle_t, cublasFillMode_t triangle,                  \
                                       cublasOperation_t op, std::int64_t n, std::int64_t k,       \
                                       const Real* alpha, const Real* a, std::int64_t lda,         \
                                       const Real* beta, Real* c, std::int64_t ldc) {              \
    return syrk(triangle, op, n, k, *alpha, a, lda, *beta, c, ldc);                                \
  }                                                                                                \
  cublasStatus_t cublas##P##geam_64(                                                               \
      cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m,              \
      std::int64_t n, const Real* alpha, const Real* a, std::int64_t lda, const Real* beta,        \
      const Real* b, std::int64_t ldb, Real* c, std::int64_t ldc) {                                \
    return geam(op_a, op_b, m, n, *alpha, a, lda, *beta, b, ldb, c, ldc);                          \
  }                                                                                                \
  cublasStatus_t cublas##P##dgmm_64(cublasHandle_t, cublasSideMode_t side, std::int64_t m,         \
                                    std::int64_t n, const Real* a, std::int64_t lda,               \
                                    const Real* x, std::int64_t step, Real* c, std::int64_t ldc) { \
    return dgmm(side, m, n, a, lda, x, step, c, ldc);                                              \
  }                                                                                                \
  cublasStatus_t cublas##P##copy_v2_64(cublasHandle_t, std::int64_t n, const Real* x,              \
                                       std::int64_t step, Real* y, std::int64_t step_of_y) {       \
    for (std::int64_t i = 0; i < n; ++i) y[i * step_of_y] = x[i * step];                           \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##P##scal_v2_64(cublasHandle_t, std::int64_t n, const Real* alpha, Real* x, \
                                       std::int64_t step) {                                        \
    for (std::int64_t i = 0; i < n; ++i) x[i * step] *= *alpha;                                    \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##P##trttp(cublasHandle_t, cublasFillMode_t triangle, int n, const Real* a, \
                                  int lda, Real* packed) {                                         \
    each_of_triangle<Real>(triangle, n, const_cast<Real*>(a), lda, packed,                         \
                           [](Real& full, Real& of_packed) { of_packed = full; });                 \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }                                                                                                \
  cublasStatus_t cublas##P##tpttr(cublasHandle_t, cublasFillMode_t triangle, int n,                \
                                  const Real* packed, Real* a, int lda) {                          \
    each_of_triangle<Real>(triangle, n, a, lda, const_cast<Real*>(packed),                         \
                           [](Real& full, Real& of_packed) { full = of_packed; });                 \
    return CUBLAS_STATUS_SUCCESS;                                                                  \
  }

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (std::getenv("FAKE_CUBLAS_FAILS") != nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_INVALID_VALUE";
}

FUNCTIONS(D, double)
FUNCTIONS(S, float)

cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t, cublasOperation_t op_a,
                                            cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                            std::int64_t k, const double* alpha, const double* a,
                                            std::int64_t lda, long long step_of_a, const double* b,
                                            std::int64_t ldb, long long step_of_b,
                                            const double* beta, double* c, std::int64_t ldc,
                                            long long step_of_c, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (const cublasStatus_t status = gemm(op_a, op_b, m, n, k, *alpha, a + i * step_of_a, lda,
                                           b + i * step_of_b, ldb, *beta, c + i * step_of_c, ldc);
        status != CUBLAS_STATUS_SUCCESS)
      return status;
  return CUBLAS_STATUS_SUCCESS;
}
}
