// The objective of a linear support vector machine and its direction, in one pass.

#include <algorithm>

#include "kernels/native/linalg.hpp"
#include "kernels/native/linalg_simd.hpp"

namespace assay::native {
namespace {

/// Observations whose margins are computed first, and which are then added while they are in the
/// first-level cache.
constexpr std::ptrdiff_t block_rows = 16;

template <class T>
class Hinge final : public LinalgOperation {
 public:
  Hinge(const LinalgProblem& problem, int threads)
      : LinalgOperation(problem, threads, linalg_simd<T>().target),
        simd_(linalg_simd<T>()),
        stride_((d_ + simd_.lanes - 1) / simd_.lanes * simd_.lanes),
        sums_stride_(d_ + 64 / sizeof(double)),
        weights_(reserve<T>(stride_)),
        sums_(reserve_for_threads<double>(sums_stride_)),
        losses_(reserve_for_threads<double>(values)) {}

  void run(Stream&) override {
    T* const weights = scratch<T>(weights_);
    std::copy_n(data<T>(2), d_, weights);
    std::fill_n(weights + d_, stride_ - d_, T(0));
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::ptrdiff_t part = 0; part < threads_; ++part) pass(part);
    double* const losses = data<double>(5);
    double* const direction = data<double>(6);
    std::fill_n(losses, 4, 0.0);
    std::fill_n(direction, d_ + 1, 0.0);
    for (std::ptrdiff_t thread = 0; thread < threads_; ++thread) {
      const double* const part = sums(thread);
      const double* const of_thread = find_losses(thread);
      for (std::ptrdiff_t j = 0; j < d_; ++j) direction[j] += part[j];
      for (std::ptrdiff_t i = 0; i < 4; ++i) losses[i] += of_thread[i];
      direction[d_] += of_thread[4];
    }
  }

 private:
  /// The four losses, and the intercept's element of the direction.
  static constexpr std::ptrdiff_t values = 5;
  double* sums(std::ptrdiff_t thread) const {
    return scratch_of_thread<double>(sums_, sums_stride_, thread);
  }
  double* find_losses(std::ptrdiff_t thread) const {
    return scratch_of_thread<double>(losses_, values, thread);
  }

  void pass(std::ptrdiff_t thread) const {
    double* const direction = sums(thread);
    double* const losses = find_losses(thread);
    std::fill_n(direction, sums_stride_, 0.0);
    std::fill_n(losses, values, 0.0);
    const Range range = find_range(thread);
    for (std::ptrdiff_t i = range.begin; i < range.end; i += block_rows)
      add_block(i, std::min(block_rows, range.end - i), direction, losses);
  }

  void add_block(std::ptrdiff_t first, std::ptrdiff_t rows, double* direction,
                 double* losses) const {
    const T* const x = data<T>(0) + first * d_;
    const T* const y = data<T>(1) + first;
    T* const out = data<T>(4) + first;
    const double intercept = data<T>(2)[d_], slope = *data<T>(3);
    T dots[block_rows * most_dots];
    const int slot = 0;
    simd_.compute_few_dots(x, d_, rows, scratch<T>(weights_), stride_, 1, &slot, dots,
                           block_rows * d_);
    const T* chosen[most_members] = {};
    double factors[most_members] = {};
    int count = 0;
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const double label = y[row],
                   z = 1 - label * (static_cast<double>(dots[row * most_dots]) + intercept),
                   s = std::min(std::max(slope * z, 0.0), 1.0);
      out[row] = static_cast<T>(s);
      losses[0] += std::max(z, 0.0);
      losses[1] += s;
      losses[2] += s * z;
      losses[3] += s * s;
      losses[4] += s * label;
      if (s == 0) continue;  // most rows of a good separator
      chosen[count] = x + row * d_;
      factors[count++] = s * label;
      if (count < most_members) continue;
      simd_.add_weighted(chosen, factors, count, d_, direction);
      count = 0;
    }
    if (count > 0) simd_.add_weighted(chosen, factors, count, d_, direction);
  }

  const LinalgSimd<T>& simd_;
  std::ptrdiff_t stride_, sums_stride_;
  std::size_t weights_, sums_, losses_;
};

}  // namespace

std::unique_ptr<Operation> make_hinge(const LinalgProblem& problem, int threads) {
  if (problem.precision() == Precision::fp32)
    return std::make_unique<Hinge<float>>(problem, threads);
  return std::make_unique<Hinge<double>>(problem, threads);
}

}  // namespace assay::native
