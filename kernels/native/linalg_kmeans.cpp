// Finds the nearest centroid of each observation, and the sums for the next centroids, in one pass.

#include <algorithm>
#include <limits>

#include "kernels/linalg/centroid_differences.hpp"
#include "kernels/native/linalg.hpp"
#include "kernels/native/linalg_simd.hpp"

namespace assay::native {
namespace {

/// Observations that are assigned first, and then added while they are in the second-level cache.
/// There are enough that several of them have the same centroid.
constexpr std::ptrdiff_t block_rows = 48;
/// Number of observations that are prefetched. Nothing is prefetched while the observations of a
/// block are added. So with few centroids, where memory is the limit, the observations of two
/// blocks are prefetched.
constexpr std::ptrdiff_t rows_ahead = 16, rows_ahead_of_few = 2 * block_rows;

template <class T>
class KmeansAssign final : public LinalgOperation {
 public:
  KmeansAssign(const LinalgProblem& problem, int threads)
      : LinalgOperation(problem, threads, linalg_simd<T>().target),
        simd_(linalg_simd<T>()),
        few_(k_ <= most_dots),
        // Few centroids are stored as rows, many as columns; both in whole vectors.
        stride_(pad((few_ ? d_ : k_), simd_.lanes)),
        width_(few_ ? most_dots : stride_),
        scores_width_(pad(width_, simd_.lanes)),
        sums_stride_(pad(d_, 64 / sizeof(double))),
        packed_(reserve<T>((few_ ? most_dots : d_) * stride_)),
        start_(reserve<T>(scores_width_)),
        dots_(reserve_for_threads<T>(block_rows * width_ + simd_.lanes)),
        sums_(reserve_for_threads<double>(k_ * sums_stride_)),
        counts_(reserve_for_threads<double>(k_ + 1)),
        heads_(reserve_for_threads<std::int32_t>(k_ + block_rows)) {}

  void run(Stream&) override {
    pack();
#pragma omp parallel num_threads(threads_)
    {
#pragma omp for schedule(static, 1)
      for (std::ptrdiff_t part = 0; part < threads_; ++part) assign(part);
#pragma omp for schedule(static)
      for (std::ptrdiff_t c = 0; c < k_; ++c) gather(c);
    }
    double inertia = 0;
    for (std::ptrdiff_t thread = 0; thread < threads_; ++thread) inertia += counts(thread)[k_];
    *data<double>(5) = inertia;
  }

 private:
  static std::ptrdiff_t pad(std::ptrdiff_t count, std::ptrdiff_t multiple) {
    return (count + multiple - 1) / multiple * multiple;
  }
  double* sums(std::ptrdiff_t thread) const {
    return scratch_of_thread<double>(sums_, k_ * sums_stride_, thread);
  }
  /// The counts of the centroids, and then the inertia.
  double* counts(std::ptrdiff_t thread) const {
    return scratch_of_thread<double>(counts_, k_ + 1, thread);
  }

  /// Packs the centroids. The product of the centroid nearest to 0 is 0 and is not computed.
  /// Padding never wins.
  void pack() {
    const T* const centroids = data<T>(1);
    const std::ptrdiff_t base = find_nearest_to_zero(centroids, k_, d_);
    T* const packed = scratch<T>(packed_);
    T* const start = scratch<T>(start_);
    std::fill_n(packed, (few_ ? most_dots : d_) * stride_, T(0));
    std::fill_n(start, scores_width_, std::numeric_limits<T>::max());
    for (std::ptrdiff_t c = 0, row = 0; c < k_; ++c) {
      start[c] = subtract_centroid(
          centroids + c * d_, centroids + base * d_, d_, [&](std::ptrdiff_t j, T difference) {
            packed[few_ ? row * stride_ + j : j * stride_ + c] = difference;
          });
      if (few_ && c != base) slots_[row++] = static_cast<int>(c);
    }
  }

  void assign(std::ptrdiff_t thread) const {
    std::fill_n(sums(thread), k_ * sums_stride_, 0.0);
    std::fill_n(counts(thread), k_ + 1, 0.0);
    T* const dots = scratch_of_thread<T>(dots_, block_rows * width_ + simd_.lanes, thread);
    std::fill_n(dots, block_rows * width_ + simd_.lanes, T(0));
    std::int32_t* const heads = scratch_of_thread<std::int32_t>(heads_, k_ + block_rows, thread);
    std::fill_n(heads, k_, -1);
    const Range range = find_range(thread);
    for (std::ptrdiff_t i = range.begin; i < range.end; i += block_rows)
      assign(thread, i, std::min(block_rows, range.end - i), dots, heads);
  }

  /// `heads`: -1 for each centroid, followed by space for one element for each row.
  void assign(std::ptrdiff_t thread, std::ptrdiff_t first, std::ptrdiff_t rows, T* dots,
              std::int32_t* heads) const {
    const T* const x = data<T>(0) + first * d_;
    const T* const packed = scratch<T>(packed_);
    std::int32_t* const labels = data<std::int32_t>(2) + first;
    if (few_)
      simd_.compute_few_dots(x, d_, rows, packed, stride_, std::max(1, static_cast<int>(k_) - 1),
                             slots_, dots, rows_ahead_of_few * d_);
    else
      simd_.compute_many_dots(x, d_, rows, packed, stride_, dots, rows_ahead * d_);
    std::int32_t* const next = heads + k_;
    for (std::ptrdiff_t row = rows; row-- > 0;) {
      labels[row] = few_ ? least_of_few(dots + row * width_)
                         : simd_.least(scratch<T>(start_), dots + row * width_, scores_width_);
      next[row] = heads[labels[row]];
      heads[labels[row]] = static_cast<std::int32_t>(row);
    }
    for (std::ptrdiff_t row = 0; row < rows; ++row)
      if (heads[labels[row]] >= 0) add_members(thread, x, labels[row], heads, next);
  }

  /// The first of equally near centroids. It uses no vectors, because their loads would wait for
  /// the stores of single products.
  std::int32_t least_of_few(const T* dots) const {
    const T* const start = scratch<T>(start_);
    std::int32_t best = 0;
    T low = start[0] - dots[0];
    for (std::int32_t c = 1; c < k_; ++c) {
      const T score = start[c] - dots[c];
      best = score < low ? c : best;
      low = score < low ? score : low;
    }
    return best;
  }

  /// Adds all rows of a block that have this centroid, several at once, so that its sums are read
  /// and written only once for them.
  void add_members(std::ptrdiff_t thread, const T* x, std::int32_t c, std::int32_t* heads,
                   const std::int32_t* next) const {
    double* const of_thread = counts(thread);
    std::int32_t row = heads[c];
    heads[c] = -1;
    while (row >= 0) {
      const T* members[most_members] = {};
      int count = 0;
      for (; count < most_members && row >= 0; row = next[row]) members[count++] = x + row * d_;
      of_thread[k_] += simd_.add_members(members, count, d_, data<T>(1) + c * d_,
                                         sums(thread) + c * sums_stride_);
      of_thread[c] += count;
    }
  }

  void gather(std::ptrdiff_t c) const {
    double* const sum = data<double>(3) + c * d_;
    double count = 0;
    std::fill_n(sum, d_, 0.0);
    for (std::ptrdiff_t thread = 0; thread < threads_; ++thread) {
      const double* const part = sums(thread) + c * sums_stride_;
      for (std::ptrdiff_t j = 0; j < d_; ++j) sum[j] += part[j];
      count += counts(thread)[c];
    }
    data<double>(4)[c] = count;
  }

  const LinalgSimd<T>& simd_;
  bool few_;
  std::ptrdiff_t stride_, width_, scores_width_, sums_stride_;
  int slots_[most_dots] = {};  ///< the centroid of each packed row, if there are few
  std::size_t packed_, start_, dots_, sums_, counts_, heads_;
};

}  // namespace

std::unique_ptr<Operation> make_kmeans_assign(const LinalgProblem& problem, int threads) {
  if (problem.precision() == Precision::fp32)
    return std::make_unique<KmeansAssign<float>>(problem, threads);
  return std::make_unique<KmeansAssign<double>>(problem, threads);
}

}  // namespace assay::native
