#pragma once
// The dense kernels of data analysis that LAPACK has, one file each.

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

}  // namespace assay::blas
