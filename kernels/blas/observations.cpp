#include "kernels/blas/observations.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace assay::blas {
namespace {

/// Approximate bytes of a block of observations: the block and the library's packed copy of it stay
/// in the second-level cache.
constexpr std::int64_t block_bytes = std::int64_t{1} << 18;
constexpr std::int64_t doubles_of_line = 8;

/// Whole cache lines, so that no two threads write to one line.
std::int64_t whole_lines(std::int64_t doubles) {
  return (doubles + doubles_of_line - 1) / doubles_of_line * doubles_of_line;
}

}  // namespace

BlockedPass::BlockedPass(const LinalgProblem& problem, int threads, Execution execution,
                         std::int64_t sums, std::int64_t each)
    : BlasOperation(problem.tensors(), 1),  // within each of ours
      n_(problem.shape().n),
      d_(problem.shape().d),
      k_(problem.shape().k),
      block_rows_(std::clamp<std::int64_t>(
          block_bytes / static_cast<std::int64_t>(size_of(storage(problem.precision()))) / d_, 1,
          n_)),
      threads_(threads),
      sums_(whole_lines(sums)),
      scratch_(whole_lines(block_rows_ * each)) {
  execution_ = std::move(execution);
  execution_.workspace_bytes =
      static_cast<std::size_t>(threads_ * (sums_ + scratch_)) * sizeof(double);
  arguments_.push_back(bytes_tensor("workspace", Role::workspace, execution_.workspace_bytes));
  execution_.numbers["block_rows"] = static_cast<double>(block_rows_);
}

void BlockedPass::run(Stream&) {
  use_threads();
  begin();
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
  for (std::int64_t thread = 0; thread < threads_; ++thread) {
    double* const sums = find_sums(thread);
    std::fill_n(sums, sums_, 0.0);
    const std::int64_t end = n_ * (thread + 1) / threads_;
    for (std::int64_t first = n_ * thread / threads_; first < end; first += block_rows_)
      add(first, std::min(block_rows_, end - first), sums, sums + sums_);
  }
  double* const all = find_sums(0);
  for (std::int64_t thread = 1; thread < threads_; ++thread)
    for (std::int64_t j = 0; j < sums_; ++j) all[j] += find_sums(thread)[j];
  end(all);
}

double* BlockedPass::find_sums(std::int64_t thread) const {
  return static_cast<double*>(data_.back()) + thread * (sums_ + scratch_);
}

}  // namespace assay::blas
