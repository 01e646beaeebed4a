#pragma once
// Parts of the dense kernels of data analysis: plain loops, and Eigen for factorizations.

#include <memory>

#include "kernels/linalg/problem.hpp"
#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {

/// Both are computed in fp64, rounded once to the precision of the problem; on `threads` threads of
/// Eigen.
std::unique_ptr<Operation> make_eigh(const LinalgProblem& problem, int threads);
std::unique_ptr<Operation> make_qr(const LinalgProblem& problem, int threads);

/// moments, kmeans_assign, hinge and hinge_hessian; null for others.
std::unique_ptr<Operation> make_observations(const LinalgProblem& problem, int threads);

}  // namespace assay::reference
