#include <stdexcept>

#include "kernels/linalg/oracles.hpp"

namespace assay {

std::unique_ptr<Oracle> make_linalg_oracle(const LinalgProblem& problem) {
  switch (problem.shape().kernel) {
    case LinalgKernel::syrk:
      return linalg::make_syrk_oracle(problem);
    case LinalgKernel::eigh:
      return linalg::make_eigh_oracle(problem);
    case LinalgKernel::qr:
      return linalg::make_qr_oracle(problem);
    case LinalgKernel::moments:
    case LinalgKernel::hinge_hessian:
      return linalg::make_moments_oracle(problem);
    case LinalgKernel::kmeans_assign:
      return linalg::make_kmeans_assign_oracle(problem);
    case LinalgKernel::hinge:
      return linalg::make_hinge_oracle(problem);
    default:
      throw std::logic_error("linalg has no oracle for " + name(problem.shape().kernel));
  }
}

}  // namespace assay
