// Activations, channels innermost. Sums over a channel are in the precision of the arithmetic over
// blocks of rows, and in fp64 over blocks.

#include "kernels/activation/problem.hpp"

#include <algorithm>

#include "core/api/layout.hpp"
#include "kernels/native/activation_simd.hpp"
#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {
namespace {

/// Number of rows whose gradients are added in the precision of the arithmetic.
constexpr std::ptrdiff_t block_of_rows = 256;

template <class Value>
class Activation final : public BoundOperation {
 public:
  Activation(const ActivationProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        problem_(problem),
        table_(activation_tables(problem.function()).table<Value>(storage(problem.precision()))),
        threads_(threads),
        // Without a bias all elements form one row.
        channels_(problem.bias() ? problem.shape().ic : problem.shape().elements()),
        rows_(problem.shape().elements() / channels_),
        element_(static_cast<std::ptrdiff_t>(size_of(storage(problem.precision())))) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "nhwc");
    lay_channels_last(arguments_);
    if (!problem.backward() || !problem.bias()) return;
    execution_.workspace_bytes =
        static_cast<std::size_t>(threads * channels_) * (sizeof(double) + sizeof(Value));
    arguments_.push_back(workspace(execution_.workspace_bytes));
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    if (totals_ != nullptr) partial_ = reinterpret_cast<Value*>(totals_ + threads_ * channels_);
  }

  void run(Stream&) override {
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::ptrdiff_t thread = 0; thread < threads_; ++thread) {
      if (!problem_.bias()) {
        const std::ptrdiff_t first = boundary(channels_, thread, cache_line);
        run_rows(first, 1, boundary(channels_, thread + 1, cache_line) - first, nullptr);
        continue;
      }
      const std::ptrdiff_t first = boundary(rows_, thread, 1),
                           last = boundary(rows_, thread + 1, 1);
      if (!problem_.backward())
        run_rows(first * channels_, last - first, channels_, nullptr);
      else
        add_rows(first, last, totals_ + thread * channels_, partial_ + thread * channels_);
    }
    if (diff_bias_ == nullptr) return;
    // Parts are added in the order of the threads.
    for (std::ptrdiff_t c = 0; c < channels_; ++c) {
      double sum = 0;
      for (std::ptrdiff_t thread = 0; thread < threads_; ++thread)
        sum += totals_[thread * channels_ + c];
      diff_bias_[c] = static_cast<Value>(sum);
    }
  }

 private:
  static constexpr std::ptrdiff_t cache_line = 64;

  /// The first element of a thread's part, a multiple of `unit`.
  std::ptrdiff_t boundary(std::ptrdiff_t count, std::ptrdiff_t thread, std::ptrdiff_t unit) const {
    return thread == threads_ ? count : count * thread / threads_ / unit * unit;
  }

  void run_rows(std::ptrdiff_t first, std::ptrdiff_t rows, std::ptrdiff_t channels,
                Value* sums) const {
    const auto at = [&](std::byte* tensor) {
      return tensor == nullptr ? nullptr : tensor + first * element_;
    };
    if (problem_.backward())
      table_.backward(at(source_), bias_, at(diff_dst_), rows, channels, sums, at(target_));
    else
      table_.forward(at(source_), bias_, rows, channels, at(target_));
  }

  void add_rows(std::ptrdiff_t first, std::ptrdiff_t last, double* total, Value* part) const {
    std::fill_n(total, channels_, 0.0);
    for (; first < last; first += block_of_rows) {
      std::fill_n(part, channels_, Value(0));
      run_rows(first * channels_, std::min(block_of_rows, last - first), channels_, part);
      for (std::ptrdiff_t c = 0; c < channels_; ++c) total[c] += static_cast<double>(part[c]);
    }
  }

  ActivationProblem problem_;
  const ActivationTable<Value>& table_;
  int threads_;
  std::ptrdiff_t channels_, rows_, element_;
  Argument<std::byte> source_{this, problem_.backward() && problem_.of_derivative() != nullptr
                                        ? problem_.of_derivative()
                                        : "src"},
      diff_dst_{this, "diff_dst"}, target_{this, problem_.backward() ? "diff_src" : "dst"};
  Argument<Value> bias_{this, "bias"}, diff_bias_{this, "diff_bias"};
  Argument<double> totals_{this, "workspace"};
  Value* partial_ = nullptr;
};

const Maker add_activation{makers(),
                           problem_kind<ActivationProblem>(),
                           &make_direct<ActivationProblem, Activation>,
                           {"direct"}};

}  // namespace
}  // namespace assay::native
