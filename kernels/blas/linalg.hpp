#pragma once
// The kernels of data analysis that are made of functions of CBLAS and of LAPACK, one file each.

#include <memory>
#include <string>

#include "kernels/blas/backend.hpp"
#include "kernels/blas/cblas.hpp"
#include "kernels/linalg/problem.hpp"

namespace assay::blas {

using OperationResult = Result<std::unique_ptr<Operation>>;

// Each returns Unsupported if the library lacks one of its functions.
/// moments and hinge_hessian by cblas_dsyrk, in both precisions, since sums are fp64.
OperationResult make_outer_products(const LinalgProblem& problem, int threads);
/// Scores of blocks of observations by cblas_?gemm.
OperationResult make_kmeans_assign(const LinalgProblem& problem, int threads);
/// Margins of blocks of observations by cblas_?gemv, and their contributions to the direction.
OperationResult make_hinge(const LinalgProblem& problem, int threads);
/// Eigenvalues and eigenvectors by LAPACK's ?syevd (tridiagonalization, divide and conquer).
OperationResult make_eigh(const LinalgProblem& problem, int threads);
/// r of a tall table by a tree of LAPACK's ?tpqrt calls.
OperationResult make_qr(const LinalgProblem& problem, int threads);

/// "cblas_dgemm" of "gemm": the function of the problem's precision.
std::string cblas_name(const std::string& function, Precision precision);
/// The address of that function, or why the library lacks it.
Result<void*> cblas(const std::string& name);

/// The row's "executed" for functions of the library.
Execution make_execution(const std::string& functions, const LinalgProblem& problem,
                         const std::string& algorithm);

/// c[j, i] = c[i, j] for the lower triangle, the only one that BLAS writes.
template <class Real>
void mirror(Real* c, std::int64_t d) {
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t j = 0; j < i; ++j) c[j * d + i] = c[i * d + j];
}

}  // namespace assay::blas
