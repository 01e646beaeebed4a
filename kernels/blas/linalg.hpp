#pragma once
// The kernels of data analysis that are made of functions of CBLAS and of LAPACK, one file each.

#include <memory>
#include <string>

#include "kernels/blas/backend.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay::blas {

/// Eigenvalues and eigenvectors by LAPACK's ?syevd (tridiagonalization, divide and conquer).
Result<std::unique_ptr<Operation>> make_eigh(const LinalgProblem& problem, int threads);
/// r of a tall table by a tree of LAPACK's ?tpqrt.
Result<std::unique_ptr<Operation>> make_qr(const LinalgProblem& problem, int threads);

/// What a function of the library executes.
Executed executed_by(const std::string& function, const LinalgProblem& problem,
                     const std::string& algorithm);

// Values of the enumerations of every cblas.h.
inline constexpr int row_major = 101, lower = 122, transpose = 112;

/// cblas_ssyrk and cblas_dsyrk, as C calls them: `Int` is int32_t or int64_t.
template <class Int, class Real>
using SyrkFunction = void (*)(int order, int triangle, int transpose_a, Int n, Int k, Real alpha,
                              const Real* a, Int lda, Real beta, Real* c, Int ldc);

/// c[j, i] = c[i, j] of the lower triangle, which is what BLAS writes.
template <class Real>
void mirror(Real* c, std::int64_t d) {
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < i; ++j) c[j * d + i] = c[i * d + j];
}

/// `dsyrk`: cblas_dsyrk, for both precisions, since sums are fp64.
std::unique_ptr<Operation> make_moments(const LinalgProblem& problem, void* dsyrk, int threads);

}  // namespace assay::blas
