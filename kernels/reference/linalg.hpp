#pragma once
// The factorizations of data analysis.

#include <memory>

#include "kernels/linalg/problem.hpp"
#include "kernels/reference/backend.hpp"

namespace assay::reference {

/// Both in fp64, rounded once to the precision of the problem; on `threads` threads of Eigen.
std::unique_ptr<Operation> make_eigh(const LinalgProblem& problem, int threads);
std::unique_ptr<Operation> make_qr(const LinalgProblem& problem, int threads);

}  // namespace assay::reference
