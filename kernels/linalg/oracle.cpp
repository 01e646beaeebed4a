#include <stdexcept>

#include "kernels/linalg/oracles.hpp"

namespace assay {

std::unique_ptr<Oracle> linalg_oracle(const LinalgProblem& problem) {
  switch (problem.shape().kernel) {
    case LinalgKernel::syrk:
      return linalg::syrk_oracle(problem);
    case LinalgKernel::eigh:
      return linalg::eigh_oracle(problem);
    case LinalgKernel::qr:
      return linalg::qr_oracle(problem);
    case LinalgKernel::moments:
    case LinalgKernel::hinge_hessian:
      return linalg::moments_oracle(problem);
    case LinalgKernel::kmeans_assign:
      return linalg::kmeans_assign_oracle(problem);
    case LinalgKernel::hinge:
      return linalg::hinge_oracle(problem);
    default:
      throw std::logic_error("linalg has no oracle for " + name(problem.shape().kernel));
  }
}

}  // namespace assay
