// kmeans_assign: products of a block of observations with all centroids by cuBLAS, then our kernel
// for the nearest one, whose one-hot matrix, times the observations and times ones, gives sums and
// counts. Squared distances are sums of squared differences, of which nothing cancels.

#include "kernels/cuda/linalg_blocks.hpp"

namespace assay::cuda {
namespace {

template <class Real>
class KmeansAssign final : public BlockedOperation<Real> {
 public:
  KmeansAssign(const LinalgProblem& problem, const Blas& blas)
      : BlockedOperation<Real>(problem, blas, 2 * problem.shape().k + problem.shape().d,
                               problem.shape().k + problem.shape().d) {}

 private:
  // Scratch memory: half norms [k], squared distances of each feature [d]; then of the observations
  // products [rows, k], the one-hot matrix [k, rows], and elements [rows, d].
  Real* half_norms() const { return reinterpret_cast<Real*>(this->scratch()); }
  double* distances() const { return this->scratch() + this->shape_.k; }
  double* products() const { return distances() + this->shape_.d; }
  double* one_hot() const { return products() + this->block_rows() * this->shape_.k; }
  double* elements() const { return one_hot() + this->block_rows() * this->shape_.k; }
  const Real* centroids() const { return this->template at<const Real>(1); }

  void begin() override {
    this->start(HalfNorm<Real>{centroids(), half_norms(), this->shape_.d}, this->shape_.k);
  }

  void add(std::int64_t first, std::int64_t rows, double beta) override {
    const std::int64_t d = this->shape_.d, k = this->shape_.k;
    const Real* const x = this->x(first);
    std::int32_t* const labels = this->template at<std::int32_t>(2) + first;
    Real* const scores = reinterpret_cast<Real*>(products());
    // By columns: [k, rows] = [k, d] [d, rows].
    check_blas(this->blas_.template of<Real>().gemm(this->handle_, CUBLAS_OP_T, CUBLAS_OP_N, k,
                                                    rows, d, &one<Real>, centroids(), d, x, d,
                                                    &zero<Real>, scores, k),
               this->what_);
    this->start(Assign<Real>{half_norms(), scores, labels, one_hot(), k, rows}, rows);
    this->add_columns(false, rows, k, one_hot(), this->ones(), beta, this->template at<double>(4));
    this->start(SquaredDifference<Real>{x, centroids(), labels, elements(), d}, rows * d);
    this->add_columns(true, rows, d, elements(), this->ones(), beta, distances());
    // By columns: [d, k] = [d, rows] [rows, k].
    check_blas(this->blas_.fp64.gemm(this->handle_, CUBLAS_OP_N, CUBLAS_OP_N, d, k, rows,
                                     &one<double>, this->fp64_copy(first, rows, elements()), d,
                                     one_hot(), rows, &beta, this->template at<double>(3), d),
               this->what_);
  }

  void end() override {
    this->add_columns(false, this->shape_.d, 1, distances(), this->ones(), 0,
                      this->template at<double>(5));
  }
};

}  // namespace

std::unique_ptr<LinalgOperation> make_kmeans_assign(const LinalgProblem& problem,
                                                    const Blas& blas) {
  if (problem.precision() == Precision::fp64)
    return std::make_unique<KmeansAssign<double>>(problem, blas);
  return std::make_unique<KmeansAssign<float>>(problem, blas);
}

}  // namespace assay::cuda
