// moments and hinge_hessian by CBLAS. Observations are copied into a block (moments: less the
// shift; hinge_hessian: those that are selected), and a rank-k update adds each block to the
// triangle.

#include <omp.h>

#include <algorithm>
#include <cstddef>

#include "kernels/blas/backend.hpp"
#include "kernels/blas/linalg.hpp"

namespace assay::blas {
namespace {

/// Approximate elements of a block: 4 MiB. So a call does much work for its triangle and its
/// threads, and a block stays in the caches.
constexpr std::int64_t block_elements = std::int64_t{1} << 19;

template <class Int, class Real>
class OuterProducts final : public BlasOperation {
 public:
  OuterProducts(const LinalgProblem& problem, const std::string& name, void* dsyrk, int threads)
      : BlasOperation(problem.tensors(), threads),
        centred_(problem.shape().kernel == LinalgKernel::moments),
        n_(problem.shape().n),
        d_(problem.shape().d),
        columns_(centred_ ? d_ : d_ + 1),
        block_rows_(std::clamp<std::int64_t>(block_elements / columns_, 1, n_)),
        output_(arguments_.size() - 1),
        call_(reinterpret_cast<SyrkFunction<Int, double>>(dsyrk)),
        threads_(threads),
        chosen_(static_cast<std::size_t>(block_rows_)) {
    execution_ = make_execution(name, problem, "direct");
    execution_.workspace_bytes =
        static_cast<std::size_t>(block_rows_ * columns_ + threads_ * d_) * sizeof(double);
    arguments_.push_back(bytes_tensor("workspace", Role::workspace, execution_.workspace_bytes));
    execution_.compute = execution_.accumulate = "fp64";
    execution_.operand_roundings = centred_ && sizeof(Real) == sizeof(double) ? 1 : 0;
  }

  void run(Stream&) override {
    use_threads();
    auto* const triangle = data<double>(output_);
    const auto columns = static_cast<Int>(columns_);
    std::fill_n(triangle, columns_ * columns_, 0.0);
    std::fill_n(sums(0), threads_ * d_, 0.0);
    for (std::int64_t next = 0;;) {
      const std::int64_t rows = choose(next);
      if (rows == 0) break;
      fill(rows);
      call_(row_major, lower, transpose, columns, static_cast<Int>(rows), 1.0, block(), columns,
            1.0, triangle, columns);
    }
    mirror(triangle, columns_);
    if (!centred_) return;
    auto* const out = data<double>(2);
    std::fill_n(out, d_, 0.0);
    for (int thread = 0; thread < threads_; ++thread)
      for (std::int64_t j = 0; j < d_; ++j) out[j] += sums(thread)[j];
  }

 private:
  double* block() const { return static_cast<double*>(data_.back()); }
  double* sums(int thread) const { return block() + block_rows_ * columns_ + thread * d_; }

  /// Chooses the next observations of a block, from `next` on. Moves `next` behind them, and
  /// returns their number.
  std::int64_t choose(std::int64_t& next) {
    const auto* const s = data<const Real>(1);
    std::int64_t rows = 0;
    for (; next < n_ && rows < block_rows_; ++next)
      if (centred_ || (s[next] > 0 && s[next] < 1))
        chosen_[static_cast<std::size_t>(rows++)] = next;
    return rows;
  }

  void fill(std::int64_t rows) const {
#pragma omp parallel num_threads(threads_)
    {
      double* const sum = sums(omp_get_thread_num());
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < rows; ++i) {
        const Real* const x = data<const Real>(0) + chosen_[static_cast<std::size_t>(i)] * d_;
        double* const to = block() + i * columns_;
        if (centred_)
          centre(x, to, sum);
        else
          *std::copy_n(x, d_, to) = 1;
      }
    }
  }

  void centre(const Real* x, double* to, double* sum) const {
    const auto* const shift = data<const Real>(1);
    for (std::int64_t j = 0; j < d_; ++j) {
      const double value = static_cast<double>(x[j]) - static_cast<double>(shift[j]);
      to[j] = value;
      sum[j] += value;
    }
  }

  bool centred_;  ///< moments; else hinge_hessian, of observations with a column of ones
  std::int64_t n_, d_, columns_, block_rows_;
  std::size_t output_;
  SyrkFunction<Int, double> call_;
  int threads_;
  std::vector<std::int64_t> chosen_;
};

}  // namespace

OperationResult make_outer_products(const LinalgProblem& problem, int threads) {
  const std::string name = cblas_name("syrk", Precision::fp64);
  Result<void*> dsyrk = cblas(name);
  if (auto* const why = std::get_if<Unsupported>(&dsyrk)) return std::move(*why);
  return make_own<OuterProducts>(problem.precision(), problem, name, std::get<void*>(dsyrk),
                                 threads);
}

}  // namespace assay::blas
