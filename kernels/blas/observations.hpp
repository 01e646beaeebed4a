#pragma once
// Passes over the observations that call a function of CBLAS for each block of observations.

#include <cstdint>

#include "kernels/blas/linalg.hpp"

namespace assay::blas {

/// Each thread calls the library, limited to one thread, for blocks of its own range of the
/// observations, and adds up a block while it is in the second-level cache. Each thread has its own
/// sums, which are then added in the order of the threads.
class BlockedPass : public BlasOperation {
 public:
  void run(Stream&) final;

 protected:
  /// `sums`: number of fp64 sums; `each`: fp64 numbers of scratch memory for each observation of a
  /// block.
  BlockedPass(const LinalgProblem& problem, int threads, Execution execution, std::int64_t sums,
              std::int64_t each);
  /// Called before the first block.
  virtual void begin() {}
  /// Adds observations [first, first + rows). Several threads call it at once.
  virtual void add(std::int64_t first, std::int64_t rows, double* sums, double* scratch) const = 0;
  virtual void end(const double* sums) const = 0;

  std::int64_t block_rows() const { return block_rows_; }

  std::int64_t n_, d_, k_;

 private:
  double* find_sums(std::int64_t thread) const;

  std::int64_t block_rows_;
  int threads_;
  std::int64_t sums_, scratch_;
};

}  // namespace assay::blas
