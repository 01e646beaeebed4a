// moments and hinge_hessian: our kernels centre a block of observations, or select some of it with
// a column of ones; cuBLAS adds its outer products to a triangle, and at the end the other one. An
// observation that is not selected is a row of zeros: all count as work.

#include "kernels/cuda/linalg_blocks.hpp"

namespace assay::cuda {
namespace {

/// Of both: the observations of a block in fp64, of `columns` each.
template <class Real>
class OuterProducts : public BlockedOperation<Real> {
 protected:
  using Base = BlockedOperation<Real>;
  OuterProducts(const LinalgProblem& problem, const Blas& blas, std::int64_t columns)
      : Base(problem, blas, columns, columns * columns), columns_(columns) {
    this->executed_.compute = this->executed_.accumulate = "fp64";
  }

  double* block() const { return this->scratch() + columns_ * columns_; }

  void add_block(std::int64_t rows, double beta) const {
    check_blas(
        this->blas_.fp64.syrk(this->handle_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, columns_, rows,
                              &one<double>, block(), columns_, &beta, triangle(), columns_),
        this->what_);
  }

  /// Memory of the triangle's other half is never written.
  void begin() override { this->start(Fill{0, triangle()}, columns_ * columns_); }

  void store(double* c) const {
    add_transposed(this->blas_.fp64, this->handle_, columns_, triangle(), c, this->what_);
  }

 private:
  double* triangle() const { return this->scratch(); }
  std::int64_t columns_;
};

template <class Real>
class Moments final : public OuterProducts<Real> {
 public:
  Moments(const LinalgProblem& problem, const Blas& blas)
      : OuterProducts<Real>(problem, blas, problem.shape().d) {
    this->executed_.operand_roundings = this->is_fp64 ? 1 : 0;
  }

 private:
  void add(std::int64_t first, std::int64_t rows, double beta) override {
    const std::int64_t d = this->shape_.d;
    this->start(Centre<Real>{this->x(first), this->template at<Real>(1), this->block(), d},
                rows * d);
    this->add_columns(true, rows, d, this->block(), this->ones(), beta,
                      this->template at<double>(2));
    this->add_block(rows, beta);
  }
  void end() override { this->store(this->template at<double>(3)); }
};

template <class Real>
class Hessian final : public OuterProducts<Real> {
 public:
  Hessian(const LinalgProblem& problem, const Blas& blas)
      : OuterProducts<Real>(problem, blas, problem.shape().d + 1) {}

 private:
  void add(std::int64_t first, std::int64_t rows, double beta) override {
    const std::int64_t d = this->shape_.d;
    this->start(Select<Real>{this->x(first), this->template at<Real>(1) + first, this->block(), d},
                rows * (d + 1));
    this->add_block(rows, beta);
  }
  void end() override { this->store(this->template at<double>(2)); }
};

template <class Real>
std::unique_ptr<LinalgOperation> made(const LinalgProblem& problem, const Blas& blas) {
  if (problem.shape().kernel == LinalgKernel::moments)
    return std::make_unique<Moments<Real>>(problem, blas);
  return std::make_unique<Hessian<Real>>(problem, blas);
}

}  // namespace

std::unique_ptr<LinalgOperation> make_outer_products(const LinalgProblem& problem,
                                                     const Blas& blas) {
  return problem.precision() == Precision::fp64 ? made<double>(problem, blas)
                                                : made<float>(problem, blas);
}

}  // namespace assay::cuda
