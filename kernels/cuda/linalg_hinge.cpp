// hinge: x w of a block of observations by cuBLAS, our kernel for what follows of it for each
// observation, and cuBLAS's sums of that.

#include "kernels/cuda/linalg_blocks.hpp"

namespace assay::cuda {
namespace {

/// Of an observation: the losses, and s y (Margin).
constexpr std::int64_t losses = 4, terms = losses + 1;

template <class Real>
class Hinge final : public BlockedOperation<Real> {
 public:
  Hinge(const LinalgProblem& problem, const Blas& blas)
      : BlockedOperation<Real>(
            problem, blas, 1 + terms + (BlockedOperation<Real>::is_fp64 ? 0 : problem.shape().d),
            0) {}

 private:
  void add(std::int64_t first, std::int64_t rows, double beta) override {
    const std::int64_t d = this->shape_.d;
    auto* const dots = reinterpret_cast<Real*>(this->scratch());
    double *const of = this->scratch() + this->block_rows(), *const copy =
                                                                 of + this->block_rows() * terms;
    const Real* const w = this->template at<const Real>(2);
    double* const direction = this->template at<double>(6);
    check_blas(this->blas_.template of<Real>().gemv(this->handle_, CUBLAS_OP_T, d, rows, &one<Real>,
                                                    this->x(first), d, w, 1, &zero<Real>, dots, 1),
               this->what_);
    this->start(Margin<Real>{dots, this->template at<const Real>(1) + first, w + d,
                             this->template at<const Real>(3), this->template at<Real>(4) + first,
                             of, rows},
                rows);
    const double* const factors = of + losses * rows;
    this->add_columns(false, rows, losses, of, this->ones(), beta, this->template at<double>(5));
    this->add_columns(false, rows, 1, factors, this->ones(), beta, direction + d);
    this->add_columns(true, rows, d, this->fp64_copy(first, rows, copy), factors, beta, direction);
  }
};

}  // namespace

std::unique_ptr<LinalgOperation> make_hinge(const LinalgProblem& problem, const Blas& blas) {
  if (problem.precision() == Precision::fp64) return std::make_unique<Hinge<double>>(problem, blas);
  return std::make_unique<Hinge<float>>(problem, blas);
}

}  // namespace assay::cuda
