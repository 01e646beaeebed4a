// moments and hinge_hessian. Our kernel copies the observations in fp64 with a one appended
// (moments: less the shift; hinge_hessian: those that are selected). cuBLAS computes the products
// of blocks of rows, as many blocks as the GPU has multiprocessors. It takes one call for each of
// two panels of columns; the panel on the other side of the diagonal is left out, so three quarters
// of all products are computed. Our kernel adds the blocks. An observation that is not selected is
// a row of zeros, and counts as work.

#include <algorithm>

#include "kernels/cuda/for_each.hpp"
#include "kernels/cuda/linalg.hpp"
#include "kernels/cuda/linalg_items.hpp"

namespace assay::cuda {
namespace {

/// Most elements of a copy: 512 MiB, and at most a sixteenth of the memory of a small GPU. A longer
/// table takes several copies, one after the other. The products of all blocks have at most a
/// quarter of these elements.
std::int64_t most_copied(const Facts& gpu) {
  constexpr std::size_t most = std::size_t{1} << 26, share = 16 * sizeof(double);
  return static_cast<std::int64_t>(std::min(most, gpu.memory / share));
}
std::int64_t most_products(const Facts& gpu) { return most_copied(gpu) / 4; }
/// Fewer rows are not worth a block.
constexpr std::int64_t fewest_rows = 256;
/// Columns that a thread block of cuBLAS computes.
constexpr std::int64_t panel = 128;

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class Real>
class OuterProducts final : public LinalgOperation {
 public:
  OuterProducts(const LinalgProblem& problem, const Blas& blas, const Facts& gpu)
      : LinalgOperation(problem, blas, "direct"),
        moments_(shape_.kernel == LinalgKernel::moments),
        columns_(quotient_up(shape_.d + 1, 2) * 2),
        blocks_(std::clamp<std::int64_t>(
            std::min(shape_.n / fewest_rows, most_products(gpu) / (columns_ * columns_)), 1,
            gpu.processors)) {
    const std::int64_t parts = quotient_up(shape_.n * columns_, most_copied(gpu));
    rows_ = quotient_up(shape_.n, parts * blocks_);
    int version = 0;
    check_blas(blas_.version(handle_, &version), "asking cuBLAS for its version");
    execution_.implementation = fmt::format("own kernels and cuBLAS {}", version);
    execution_.compute = execution_.accumulate = "fp64";
    if (moments_) execution_.operand_roundings = std::is_same_v<Real, double> ? 1 : 0;
    execution_.numbers["block_rows"] = static_cast<double>(rows_);
    scratch_ = arguments_.size();
    add_scratch("blocks",
                static_cast<std::size_t>(blocks_ * columns_ * (rows_ + columns_)) * sizeof(double));
  }

  void run(Stream& stream) override {
    stream_ = cuda_stream(stream);
    check_blas(blas_.set_stream(handle_, stream_), what_);
    const std::int64_t d = shape_.d, at_once = blocks_ * rows_;
    double* const copy = data<double>(scratch_);
    double* const products = copy + at_once * columns_;
    for (std::int64_t first = 0; first < shape_.n; first += at_once) {
      const Real* const second = data<const Real>(1);
      start(Observe<Real>{data<const Real>(0) + first * d, moments_ ? second : nullptr,
                          moments_ ? nullptr : second + first, copy, shape_.n - first, d, columns_,
                          Divisor(columns_ / 2)},
            at_once * columns_ / 2);
      multiply(copy, products, first == 0 ? zero<double> : one<double>);
    }
    start(AddMatrices{products, blocks_, columns_, moments_ ? d : d + 1,
                      data<double>(moments_ ? 3 : 2), moments_ ? data<double>(2) : nullptr},
          columns_ * columns_);
  }

 private:
  /// Computes the products on and below the diagonal of the matrix, which cuBLAS reads by columns.
  void multiply(const double* copy, double* products, double beta) const {
    const std::int64_t whole = quotient_up(columns_, panel),
                       width = std::min(columns_, quotient_up(whole, 2) * panel),
                       row_block = rows_ * columns_, product = columns_ * columns_;
    for (std::int64_t first = 0; first < columns_; first += width)
      check_blas(blas_.gemms(handle_, CUBLAS_OP_N, CUBLAS_OP_T, columns_ - first,
                             std::min(width, columns_ - first), rows_, &one<double>, copy + first,
                             columns_, row_block, copy + first, columns_, row_block, &beta,
                             products + first * (columns_ + 1), columns_, product, blocks_),
                 what_);
  }

  template <class Item>
  void start(const Item& item, std::int64_t count) const {
    check(for_each(item, count, stream_), what_);
  }

  bool moments_;
  std::int64_t columns_, blocks_, rows_ = 0;  ///< of the copy: an even number that includes the one
  std::size_t scratch_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<LinalgOperation> make_outer_products(const LinalgProblem& problem, const Blas& blas,
                                                     const Facts& gpu) {
  if (problem.precision() == Precision::fp64)
    return std::make_unique<OuterProducts<double>>(problem, blas, gpu);
  return std::make_unique<OuterProducts<float>>(problem, blas, gpu);
}

}  // namespace assay::cuda
