// Batch normalization, channels innermost: one pass over src for its statistics, and one that
// computes dst, with addition and rectifier; backward likewise. The second pass reads rows in
// reverse order, so that it first uses the data that the caches still hold.

#include "kernels/norm/problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/api/layout.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/norm_simd.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {
namespace {

/// Number of rows whose elements are added in the precision of the arithmetic; their sums are added
/// in fp64.
constexpr std::ptrdiff_t block_rows = 256;

/// Number of rows whose mean is the pivot of the squares.
constexpr std::ptrdiff_t pivot_rows = 16;

template <class Value>
class Normalization final : public BoundOperation {
 public:
  Normalization(const NormProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        table_(norm_tables().table<Value>(storage(problem.precision()))),
        threads_(threads),
        rows_(problem.shape().per_channel()),
        channels_(problem.shape().ic),
        row_bytes_(channels_ * static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "nhwc");
    lay_channels_last(arguments_);
    // Sums of each thread, and three values for each channel.
    execution_.workspace_bytes =
        static_cast<std::size_t>(channels_) *
        (static_cast<std::size_t>(threads) * 2 * (sizeof(double) + sizeof(Value)) +
         3 * sizeof(Value));
    arguments_.push_back(workspace(execution_.workspace_bytes));
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    partial_ = reinterpret_cast<Value*>(totals_ + 2 * channels_ * threads_);
    factor_ = partial_ + 2 * channels_ * threads_;
    slope_ = factor_ + channels_;
    offset_ = slope_ + channels_;
  }

  void run(Stream&) override {
    switch (problem_.direction()) {
      case NormDirection::forward_training:
        statistics();
        return normalize();
      case NormDirection::forward_inference:
        return normalize();
      case NormDirection::backward:
        return backward();
    }
  }

 private:
  struct Range {
    std::ptrdiff_t begin, end;
  };
  Range find_range(std::ptrdiff_t thread) const {
    return {rows_ * thread / threads_, rows_ * (thread + 1) / threads_};
  }
  const void* row(const void* base, std::ptrdiff_t at) const {
    return base == nullptr ? nullptr : static_cast<const std::byte*>(base) + at * row_bytes_;
  }
  void* row(void* base, std::ptrdiff_t at) const {
    return base == nullptr ? nullptr : static_cast<std::byte*>(base) + at * row_bytes_;
  }

  /// Calls add(first row, rows, sums, more sums) for blocks of rows. The sums of blocks are added
  /// in fp64, and those of threads in the order of the threads. The results are in the first
  /// thread's totals.
  template <class Add>
  void sum(const Add& add) const {
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::ptrdiff_t thread = 0; thread < threads_; ++thread) {
      double* const total = totals_ + 2 * channels_ * thread;
      Value* const part = partial_ + 2 * channels_ * thread;
      std::fill_n(total, 2 * channels_, 0.0);
      const Range range = find_range(thread);
      for (std::ptrdiff_t first = range.begin; first < range.end; first += block_rows) {
        std::fill_n(part, 2 * channels_, Value(0));
        add(first, std::min(block_rows, range.end - first), part, part + channels_);
        for (std::ptrdiff_t j = 0; j < 2 * channels_; ++j) total[j] += static_cast<double>(part[j]);
      }
    }
    for (std::ptrdiff_t thread = 1; thread < threads_; ++thread)
      for (std::ptrdiff_t j = 0; j < 2 * channels_; ++j)
        totals_[j] += totals_[2 * channels_ * thread + j];
  }

  /// Calls body(first row, rows) for blocks of rows; each thread begins at the end of its range.
  template <class Body>
  void each_block(const Body& body) const {
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::ptrdiff_t thread = 0; thread < threads_; ++thread) {
      const Range range = find_range(thread);
      for (std::ptrdiff_t end = range.end; end > range.begin;) {
        const std::ptrdiff_t first = std::max(range.begin, end - block_rows);
        body(first, end - first);
        end = first;
      }
    }
  }

  double inverse(std::ptrdiff_t c) const {
    return 1 / std::sqrt(static_cast<double>(variance_[c]) + norm_epsilon);
  }

  /// Squares are those of differences from the mean of a few rows. So they lose few digits if the
  /// mean is large compared with the deviation; the mean of several rows also avoids that one
  /// outlying pixel is the pivot. Sums are sums of the elements, because sums of differences drift.
  void statistics() const {
    Value* const pivot = offset_;
    find_pivots(pivot);
    sum([&](std::ptrdiff_t first, std::ptrdiff_t rows, Value* sums, Value* squares) {
      table_.statistics(row(src_, first), rows, channels_, pivot, sums, squares);
    });
    for (std::ptrdiff_t c = 0; c < channels_; ++c) {
      const double mean = totals_[c] / static_cast<double>(rows_),
                   moved = mean - static_cast<double>(pivot[c]),
                   square = totals_[channels_ + c] / static_cast<double>(rows_);
      mean_[c] = static_cast<Value>(mean);
      variance_[c] = static_cast<Value>(std::max(square - moved * moved, 0.0));
    }
  }

  /// Computes the means of evenly spaced rows in the memory of the totals.
  void find_pivots(Value* pivot) const {
    const std::ptrdiff_t count = std::min(pivot_rows, rows_);
    double *const sums = totals_, *const decoded = totals_ + channels_;
    std::fill_n(sums, channels_, 0.0);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      decode(storage(problem_.precision()),
             static_cast<const std::byte*>(row(src_, rows_ * i / count)),
             std::span(decoded, static_cast<std::size_t>(channels_)));
      for (std::ptrdiff_t c = 0; c < channels_; ++c) sums[c] += decoded[c];
    }
    for (std::ptrdiff_t c = 0; c < channels_; ++c)
      pivot[c] = static_cast<Value>(sums[c] / static_cast<double>(count));
  }

  void normalize() const {
    for (std::ptrdiff_t c = 0; c < channels_; ++c)
      factor_[c] = static_cast<Value>(static_cast<double>(scale_[c]) * inverse(c));
    const bool relu = problem_.fusion() != NormFusion::none;
    each_block([&](std::ptrdiff_t first, std::ptrdiff_t rows) {
      table_.normalize(row(src_, first), row(addend_, first), rows, channels_, factor_, mean_,
                       shift_, relu, row(dst_, first));
    });
  }

  void backward() const {
    sum([&](std::ptrdiff_t first, std::ptrdiff_t rows, Value* sums, Value* products) {
      table_.gradient_sums(row(src_, first), row(dst_, first), row(diff_dst_, first), rows,
                           channels_, mean_, sums, products, row(diff_addend_, first));
    });
    const double m = static_cast<double>(rows_);
    for (std::ptrdiff_t c = 0; c < channels_; ++c) {
      const double by = inverse(c), a = static_cast<double>(scale_[c]) * by,
                   of_scale = totals_[channels_ + c] * by;
      diff_shift_[c] = static_cast<Value>(totals_[c]);
      diff_scale_[c] = static_cast<Value>(of_scale);
      factor_[c] = static_cast<Value>(a);
      slope_[c] = static_cast<Value>(-a * by * of_scale / m);
      offset_[c] = static_cast<Value>(-a * totals_[c] / m);
    }
    // The gradient that has passed the rectifier is read again from where the first pass wrote it.
    const bool kept = diff_addend_ != nullptr;
    const void* const g = kept ? diff_addend_ : diff_dst_;
    const void* const dst = kept ? nullptr : static_cast<void*>(dst_);
    each_block([&](std::ptrdiff_t first, std::ptrdiff_t rows) {
      table_.gradients(row(src_, first), row(dst, first), row(g, first), rows, channels_, mean_,
                       factor_, slope_, offset_, row(diff_src_, first));
    });
  }

  NormProblem problem_;
  const NormTable<Value>& table_;
  int threads_;
  std::ptrdiff_t rows_, channels_, row_bytes_;
  Argument<void> src_{this, "src"}, addend_{this, "addend"}, dst_{this, "dst"},
      diff_dst_{this, "diff_dst"}, diff_src_{this, "diff_src"}, diff_addend_{this, "diff_addend"};
  Argument<Value> scale_{this, "scale"}, shift_{this, "shift"}, mean_{this, "mean"},
      variance_{this, "variance"}, diff_scale_{this, "diff_scale"}, diff_shift_{this, "diff_shift"};
  Argument<double> totals_{this, "workspace"};  ///< two sums of all channels for each thread
  Value *partial_ = nullptr, *factor_ = nullptr, *slope_ = nullptr, *offset_ = nullptr;
};

const Maker add_norm{
    makers(), problem_kind<NormProblem>(), &make_direct<NormProblem, Normalization>, {"direct"}};

}  // namespace
}  // namespace assay::native
