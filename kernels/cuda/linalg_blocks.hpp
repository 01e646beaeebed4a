#pragma once
// Kernels of data analysis that sum over observations, block by block: our kernels prepare a block
// in fp64, and cuBLAS sums it.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/for_each.hpp"
#include "kernels/cuda/linalg.hpp"
#include "kernels/cuda/linalg_items.hpp"

namespace assay::cuda {

/// `Real`: the type of the table.
template <class Real>
class BlockedOperation : public LinalgOperation {
 public:
  void run(Stream& stream) final {
    stream_ = cuda_stream(stream);
    check_blas(blas_.set_stream(handle_, stream_), what_);
    start(Fill{1, ones()}, ones_);
    begin();
    for (std::int64_t first = 0; first < shape_.n; first += rows_)
      add(first, std::min(rows_, shape_.n - first), first == 0 ? 0 : 1);
    end();
  }

 protected:
  static constexpr bool is_fp64 = std::is_same_v<Real, double>;

  /// `each`: fp64 numbers of scratch memory for each observation of a block; `more`: further ones.
  BlockedOperation(const LinalgProblem& problem, const Blas& blas, std::int64_t each,
                   std::int64_t more)
      : LinalgOperation(problem, blas, "direct"),
        rows_(std::clamp<std::int64_t>(block_elements / (each + 1), 1, shape_.n)),
        ones_(std::max(rows_, shape_.d + 1)) {
    int version = 0;
    check_blas(blas_.version(handle_, &version), "asking cuBLAS for its version");
    executed_.implementation = fmt::format("own kernels and cuBLAS {}", version);
    executed_.numbers["block_rows"] = static_cast<double>(rows_);
    scratch_ = arguments_.size();
    add_scratch("blocks", static_cast<std::size_t>(ones_ + rows_ * each + more) * sizeof(double));
  }

  virtual void begin() {}
  /// Adds observations [first, first + rows) to the sums. `beta`: 0 for the first block, else 1.
  virtual void add(std::int64_t first, std::int64_t rows, double beta) = 0;
  virtual void end() {}

  template <class Item>
  void start(const Item& item, std::int64_t count) const {
    check(for_each(item, count, stream_), what_);
  }
  const double* ones() const { return at<double>(scratch_); }
  double* ones() { return at<double>(scratch_); }
  double* scratch() const { return at<double>(scratch_) + ones_; }
  std::int64_t block_rows() const { return rows_; }
  const Real* x(std::int64_t first) const { return at<const Real>(0) + first * shape_.d; }

  /// sums [columns] = beta sums + m^T weights. m is stored as [columns, rows] or, with `along`, as
  /// [rows, columns].
  void add_columns(bool along, std::int64_t rows, std::int64_t columns, const double* m,
                   const double* weights, double beta, double* sums) const {
    const auto& of = blas_.of<double>();
    check_blas(along ? of.gemv(handle_, CUBLAS_OP_N, columns, rows, &one<double>, m, columns,
                               weights, 1, &beta, sums, 1)
                     : of.gemv(handle_, CUBLAS_OP_T, rows, columns, &one<double>, m, rows, weights,
                               1, &beta, sums, 1),
               what_);
  }

  /// The block's x in fp64: x itself, or a copy of it at `copy`.
  const double* fp64_copy(std::int64_t first, std::int64_t rows, double* copy) const {
    if constexpr (is_fp64) {
      return x(first);
    } else {
      start(Widen<Real>{x(first), copy}, rows * shape_.d);
      return copy;
    }
  }

 private:
  /// About so many elements have a block: 32 MiB, so that what our kernels write is still in the L2
  /// cache of a large GPU when cuBLAS reads it.
  static constexpr std::int64_t block_elements = std::int64_t{1} << 22;

  std::int64_t rows_, ones_;
  std::size_t scratch_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace assay::cuda
