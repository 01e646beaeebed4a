#include "kernels/cuda/conv_plain_weights.hpp"

#include "kernels/cuda/conv_form.hpp"
#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

class PlainWeights final : public BoundOperation {
 public:
  PlainWeights(const ConvProblem& problem, std::unique_ptr<Operation> inner)
      : BoundOperation(inner->arguments()),
        inner_(std::move(inner)),
        what_("filters of " + problem.canonical()),
        backward_(problem.direction() == ConvDirection::bwd_weights),
        filter_(conv_parts(problem.direction()).w),
        packed_(arguments_[filter_]) {
    const std::vector<std::int64_t>& dims = packed_.dims;  // [g, oc/g, ic/g, …]
    channels_ = dims[2];
    taps_ = packed_.elements() / (dims[0] * dims[1] * channels_);
    arguments_[filter_].layout = nullptr;
    arguments_.push_back(bytes_tensor("filter", Role::workspace, packed_.bytes));
  }

  void bind(std::span<Tensor* const> tensors) override {
    plain_ = tensors[filter_]->data();
    packed_.memory = [to = tensors.back()->data()](std::size_t) {
      return std::shared_ptr<void>(std::shared_ptr<void>(), to);
    };
    inside_ = std::make_unique<CudaTensor>(packed_);
    std::vector<Tensor*> of_inner(tensors.begin(), tensors.end() - 1);
    of_inner[filter_] = inside_.get();
    inner_->bind(of_inner);
  }

  void run(Stream& stream) override {
    if (!backward_) transpose(plain_, inside_->data(), channels_, taps_, stream);
    inner_->run(stream);
    if (backward_) transpose(inside_->data(), plain_, taps_, channels_, stream);
  }

  Execution execution() const override {
    Execution execution = inner_->execution();
    execution.layout = plain_weights_layout;
    execution.numbers.erase("kernels_s");  // of the inner operation's kernels alone
    execution.workspace_bytes += packed_.bytes;
    return execution;
  }

 private:
  void transpose(const void* from, void* to, std::int64_t rows, std::int64_t columns,
                 Stream& stream) const {
    with_stored(packed_.type, [&](auto stored) {
      using Stored = decltype(stored);
      const Transpose<Stored> item{static_cast<const Stored*>(from), static_cast<Stored*>(to), rows,
                                   columns};
      check(for_each(item, item.items(packed_.elements()), cuda_stream(stream)), what_);
    });
  }

  std::unique_ptr<Operation> inner_;
  std::string what_;
  bool backward_;
  std::size_t filter_;
  TensorSpec packed_;
  std::int64_t channels_ = 0, taps_ = 0;
  void* plain_ = nullptr;
  std::unique_ptr<CudaTensor> inside_;
};

}  // namespace

std::unique_ptr<Operation> with_plain_weights(const ConvProblem& problem,
                                              std::unique_ptr<Operation> inner) {
  return std::make_unique<PlainWeights>(problem, std::move(inner));
}

}  // namespace assay::cuda
