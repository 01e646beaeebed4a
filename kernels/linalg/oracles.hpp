#pragma once
// The oracles of the kernels of data analysis. Each is in a file of its own.

#include <memory>

#include "kernels/linalg/problem.hpp"

namespace assay::linalg {

std::unique_ptr<Oracle> syrk_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> eigh_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> qr_oracle(const LinalgProblem& problem);
/// It serves moments and hinge_hessian.
std::unique_ptr<Oracle> moments_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> kmeans_assign_oracle(const LinalgProblem& problem);
std::unique_ptr<Oracle> hinge_oracle(const LinalgProblem& problem);

}  // namespace assay::linalg
