// Moments by CBLAS: blocks of observations less the shift, and a rank-k update of the triangle by
// each.

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstddef>

#include "kernels/blas/backend.hpp"
#include "kernels/blas/linalg.hpp"

namespace assay::blas {
namespace {

/// Elements of a block, about: 4 MiB, so that a call does much work for its triangle and its
/// threads, and a block stays in the caches.
constexpr std::int64_t block_elements = std::int64_t{1} << 19;

template <class Int, class Real>
class Moments final : public Operation {
 public:
  Moments(const LinalgProblem& problem, void* dsyrk, int threads)
      : n_(problem.shape().n),
        d_(problem.shape().d),
        block_rows_(std::clamp<std::int64_t>(block_elements / d_, 1, n_)),
        arguments_(problem.tensors()),
        call_(reinterpret_cast<SyrkFunction<Int, double>>(dsyrk)),
        threads_(threads) {
    TensorSpec workspace;
    workspace.name = "workspace";
    workspace.role = Role::workspace;
    workspace.bytes = static_cast<std::size_t>((block_rows_ + threads_) * d_) * sizeof(double);
    arguments_.push_back(workspace);
    executed_.workspace_bytes = workspace.bytes;
    executed_.algorithm = "direct";
    executed_.implementation = fmt::format("{} cblas_dsyrk", library().version());
    executed_.storage = std::string(assay::name(problem.precision()));
    executed_.compute = executed_.accumulate = "fp64";
    executed_.operand_roundings = sizeof(Real) == sizeof(double) ? 1 : 0;
    executed_.evidence = "numerical";
    executed_.layout = "rows";
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    for (std::size_t i = 0; i < 5; ++i) data_[i] = tensors[i]->data();
    library().use_threads(threads_);
  }

  void run(Stream&) override {
    auto* const gram = static_cast<double*>(data_[3]);
    auto* const block = static_cast<double*>(data_[4]);
    const auto d = static_cast<Int>(d_);
    std::fill_n(sums(0), threads_ * d_, 0.0);
    for (std::int64_t first = 0; first < n_; first += block_rows_) {
      const std::int64_t rows = std::min(block_rows_, n_ - first);
      centre(first, rows, block);
      call_(row_major, lower, transpose, d, static_cast<Int>(rows), 1.0, block, d,
            first == 0 ? 0.0 : 1.0, gram, d);
    }
    mirror(gram, d_);
    auto* const out = static_cast<double*>(data_[2]);
    std::fill_n(out, d_, 0.0);
    for (int thread = 0; thread < threads_; ++thread)
      for (std::int64_t j = 0; j < d_; ++j) out[j] += sums(thread)[j];
  }

  Executed executed() const override { return executed_; }

 private:
  double* sums(int thread) const {
    return static_cast<double*>(data_[4]) + (block_rows_ + thread) * d_;
  }

  void centre(std::int64_t first, std::int64_t rows, double* block) const {
    const auto* const x = static_cast<const Real*>(data_[0]) + first * d_;
    const auto* const shift = static_cast<const Real*>(data_[1]);
#pragma omp parallel num_threads(threads_)
    {
      double* const sum = sums(omp_get_thread_num());
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < d_; ++j) {
          const double value = static_cast<double>(x[i * d_ + j]) - static_cast<double>(shift[j]);
          block[i * d_ + j] = value;
          sum[j] += value;
        }
    }
  }

  std::int64_t n_, d_, block_rows_;
  std::vector<TensorSpec> arguments_;
  SyrkFunction<Int, double> call_;
  int threads_;
  void* data_[5] = {};
  Executed executed_;
};

template <class Int>
std::unique_ptr<Operation> made(const LinalgProblem& problem, void* dsyrk, int threads) {
  if (problem.precision() == Precision::fp64)
    return std::make_unique<Moments<Int, double>>(problem, dsyrk, threads);
  return std::make_unique<Moments<Int, float>>(problem, dsyrk, threads);
}

}  // namespace

std::unique_ptr<Operation> make_moments(const LinalgProblem& problem, void* dsyrk, int threads) {
  return library().wide() ? made<std::int64_t>(problem, dsyrk, threads)
                          : made<std::int32_t>(problem, dsyrk, threads);
}

}  // namespace assay::blas
