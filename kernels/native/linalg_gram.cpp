// Sums of outer products of observations: syrk, moments and hinge_hessian. The last two add a
// column of ones, whose products are the sums of the columns.

#include <algorithm>

#include "kernels/native/linalg.hpp"
#include "kernels/native/linalg_simd.hpp"

namespace assay::native {
namespace {

/// Observations that are added in the type of the table before their sums are added in fp64. With
/// 24 columns of fp64 they take half of the first-level cache, and with a few hundred a part of the
/// second.
constexpr std::ptrdiff_t block_rows = 128;

/// Elements between rows of `columns` elements: whole vectors, and an odd number of cache lines, so
/// that the lines of a column are spread over all sets of a cache.
template <class T>
std::ptrdiff_t spread(std::ptrdiff_t columns) {
  constexpr std::ptrdiff_t line = 64 / sizeof(T);
  return ((columns + line - 1) / line | 1) * line;
}

template <class T>
class Gram final : public LinalgOperation {
 public:
  Gram(const LinalgProblem& problem, int threads)
      : LinalgOperation(problem, threads, linalg_simd<T>().target),
        kernel_(problem.shape().kernel),
        columns_(d_ + (kernel_ == LinalgKernel::syrk ? 0 : 1)),
        stride_(spread<T>(columns_)),
        c_stride_(spread<double>(whole_vectors(columns_))),
        block_(reserve_for_threads<T>(block_rows * stride_)),
        triangle_(reserve_for_threads<double>(columns_ * c_stride_)) {
    if (kernel_ == LinalgKernel::moments) execution_.operand_roundings = 1;
  }

  void run(Stream&) override {
#pragma omp parallel num_threads(threads_)
    {
#pragma omp for schedule(static, 1)
      for (std::ptrdiff_t part = 0; part < threads_; ++part) add(part);
#pragma omp for schedule(static, 1)
      for (std::ptrdiff_t i = 0; i < columns_; ++i) gather(i);
    }
  }

 private:
  /// Tiles of the triangle are as wide as a vector of T.
  static std::ptrdiff_t whole_vectors(std::ptrdiff_t columns) {
    const std::ptrdiff_t lanes = linalg_simd<T>().lanes;
    return (columns + lanes - 1) / lanes * lanes;
  }
  double* triangle(std::ptrdiff_t thread) const {
    return scratch_of_thread<double>(triangle_, columns_ * c_stride_, thread);
  }

  /// Sums the observations of a thread.
  void add(std::ptrdiff_t thread) const {
    const LinalgSimd<T>& simd = linalg_simd<T>();
    T* const block = scratch_of_thread<T>(block_, block_rows * stride_, thread);
    double* const c = triangle(thread);
    std::fill_n(block, block_rows * stride_, T(0));
    std::fill_n(c, columns_ * c_stride_, 0.0);
    const bool centred = kernel_ == LinalgKernel::moments,
               selects = kernel_ == LinalgKernel::hinge_hessian;
    const T* const x = data<T>(0);
    const T* const of_rows = selects ? data<T>(1) : nullptr;
    const T* const shift = centred ? data<T>(1) : nullptr;
    std::ptrdiff_t rows = 0;
    const Range range = find_range(thread);
    for (std::ptrdiff_t i = range.begin; i < range.end; ++i) {
      if (selects && !(of_rows[i] > 0 && of_rows[i] < 1)) continue;
      T* const to = block + rows * stride_;
      simd.copy_row(x + i * d_, shift, d_, to);
      if (columns_ > d_) to[d_] = 1;
      if (++rows < block_rows) continue;
      const std::ptrdiff_t later = std::min(block_rows, range.end - i - 1);
      simd.add_gram(block, stride_, rows, columns_, c, c_stride_, x + (i + 1) * d_, later * d_);
      rows = 0;
    }
    if (rows > 0) simd.add_gram(block, stride_, rows, columns_, c, c_stride_, x, 0);
  }

  /// Adds row i of the triangles of all threads, and writes it to the outputs.
  void gather(std::ptrdiff_t i) const {
    double* const row = triangle(0) + i * c_stride_;
    for (std::ptrdiff_t thread = 1; thread < threads_; ++thread) {
      const double* const part = triangle(thread) + i * c_stride_;
      for (std::ptrdiff_t j = 0; j <= i; ++j) row[j] += part[j];
    }
    if (kernel_ == LinalgKernel::syrk) return mirror(row, i, d_, data<T>(1));
    if (kernel_ == LinalgKernel::hinge_hessian) return mirror(row, i, columns_, data<double>(2));
    if (i == d_)
      std::copy_n(row, d_, data<double>(2));
    else
      mirror(row, i, d_, data<double>(3));
  }

  template <class Out>
  static void mirror(const double* row, std::ptrdiff_t i, std::ptrdiff_t size, Out* out) {
    for (std::ptrdiff_t j = 0; j <= i; ++j)
      out[i * size + j] = out[j * size + i] = static_cast<Out>(row[j]);
  }

  LinalgKernel kernel_;
  std::ptrdiff_t columns_, stride_, c_stride_;
  std::size_t block_, triangle_;
};

}  // namespace

std::unique_ptr<Operation> make_gram(const LinalgProblem& problem, int threads) {
  if (problem.precision() == Precision::fp32)
    return std::make_unique<Gram<float>>(problem, threads);
  return std::make_unique<Gram<double>>(problem, threads);
}

}  // namespace assay::native
