#pragma once
// The oracles of the kernels of data analysis. Each is in a file of its own.

#include <memory>

#include "kernels/linalg/problem.hpp"

namespace assay::linalg {

std::unique_ptr<Oracle> make_syrk_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> make_eigh_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> make_qr_oracle(const LinalgProblem& problem);
/// It serves moments and hinge_hessian.
std::unique_ptr<Oracle> make_moments_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> make_kmeans_assign_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> make_hinge_oracle(const LinalgProblem& problem);

}  // namespace assay::linalg
