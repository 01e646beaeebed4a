// Softmax cross-entropy with label smoothing, and its gradients. Each thread takes whole samples.
// The classes of a sample stay in its cache for all passes over them.

#include "kernels/loss/problem.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/native/backend.hpp"
#include "kernels/native/loss_simd.hpp"
#include "kernels/native/parts.hpp"

namespace assay::native {
namespace {

template <class Value>
class Loss final : public BoundOperation {
 public:
  Loss(const LossProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        shape_(problem.shape()),
        training_(problem.pass() == LossPass::training),
        table_(loss_tables().table<Value>(storage(problem.precision()))),
        threads_(threads),
        row_bytes_(static_cast<std::size_t>(shape_.classes) *
                   size_of(storage(problem.precision()))),
        no_bias_(static_cast<std::size_t>(shape_.biased ? 0 : shape_.classes)) {
    execution_ = make_direct_execution(problem.precision(), table_.target, "rows");
    // The memory of each thread: one sample, and the sums of the gradients of its samples.
    execution_.workspace_bytes = static_cast<std::size_t>(threads) * 2 *
                                 static_cast<std::size_t>(shape_.classes) * sizeof(Value);
    arguments_.push_back(workspace(execution_.workspace_bytes));
  }

  void run(Stream&) override {
    const std::int64_t classes = shape_.classes;
#pragma omp parallel for num_threads(threads_) schedule(static, 1)
    for (std::int64_t thread = 0; thread < threads_; ++thread) {
      Value* const x = work_ + 2 * classes * thread;
      std::fill_n(x + classes, classes, Value(0));
      for (std::int64_t n = shape_.samples * thread / threads_;
           n < shape_.samples * (thread + 1) / threads_; ++n)
        sample(n, x, x + classes);
    }
    if (!training_ || !shape_.biased) return;
    // Sums are added in the order of the threads.
    std::copy_n(work_ + classes, classes, &diff_bias_[0]);
    for (std::int64_t thread = 1; thread < threads_; ++thread) {
      const Value* const part = work_ + 2 * classes * thread + classes;
      for (std::int64_t c = 0; c < classes; ++c) diff_bias_[c] += part[c];
    }
  }

 private:
  void sample(std::int64_t n, Value* x, Value* of_bias) const {
    const auto [samples, classes, smoothing, biased] = shape_;
    const std::size_t row = static_cast<std::size_t>(n) * row_bytes_;
    const std::int32_t y = labels_[n];
    Value largest, total;
    table_.add_bias(logits_ + row, biased ? bias_ : no_bias_.data(), classes, x, &largest, &total);
    const Value of_label = x[y];
    correct_[n] = of_label == largest && std::find(x, x + y, largest) == x + y ? 1 : 0;
    const Value sum = table_.exponentials(classes, largest, x);
    const double wide = static_cast<double>(sum), part = smoothing / static_cast<double>(classes);
    losses_[n] = static_cast<Value>(static_cast<double>(largest) + std::log(wide) -
                                    (1 - smoothing) * static_cast<double>(of_label) -
                                    part * static_cast<double>(total));
    if (!training_) return;
    x[y] = static_cast<Value>(static_cast<double>(x[y]) - (1 - smoothing) * wide);
    table_.gradients(
        x, classes, sum, static_cast<Value>(part),
        static_cast<Value>(static_cast<double>(*scale_) / static_cast<double>(samples)),
        diff_logits_ + row, of_bias);
  }

  LossShape shape_;
  bool training_;
  const LossTable<Value>& table_;
  int threads_;
  std::size_t row_bytes_;
  std::vector<Value> no_bias_;  ///< zeros
  Argument<const std::byte> logits_{this, "logits"};
  Argument<const Value> bias_{this, "bias"}, scale_{this, "scale"};
  Argument<const std::int32_t> labels_{this, "labels"};
  Argument<Value> losses_{this, "losses"}, diff_bias_{this, "diff_bias"}, work_{this, "workspace"};
  Argument<std::int32_t> correct_{this, "correct"};
  Argument<std::byte> diff_logits_{this, "diff_logits"};
};

const Maker add_loss{
    makers(), problem_kind<LossProblem>(), &make_direct<LossProblem, Loss>, {"direct"}};

}  // namespace
}  // namespace assay::native
