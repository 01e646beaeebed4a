#include "kernels/cuda/conv_wide_inputs.hpp"

#include <array>

#include "kernels/cuda/conv_items.hpp"
#include "kernels/cuda/own_operation.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

class WideInputs final : public BoundOperation {
 public:
  WideInputs(const ConvProblem& problem, std::unique_ptr<Operation> inner)
      : BoundOperation(inner->arguments()),
        inner_(std::move(inner)),
        what_("inputs of " + problem.canonical()),
        type_(storage(problem.precision())),
        first_wide_(arguments_.size()) {
    for (std::size_t i = 0; i < inputs; ++i) {  // src, diff_dst
      wide_[i] = arguments_[i];
      arguments_[i].type = type_;
      arguments_[i].bytes = static_cast<std::size_t>(wide_[i].elements()) * size_of(type_);
      arguments_.push_back(
          bytes_tensor(wide_[i].name + " in fp32", Role::workspace, wide_[i].bytes));
    }
  }

  void bind(std::span<Tensor* const> tensors) override {
    std::vector<Tensor*> of_inner(tensors.begin(),
                                  tensors.begin() + static_cast<std::ptrdiff_t>(first_wide_));
    for (std::size_t i = 0; i < inputs; ++i) {
      narrow_[i] = tensors[i]->data();
      wide_[i].memory = [to = tensors[first_wide_ + i]->data()](std::size_t) {
        return std::shared_ptr<void>(std::shared_ptr<void>(), to);
      };
      inside_[i] = std::make_unique<CudaTensor>(wide_[i]);
      of_inner[i] = inside_[i].get();
    }
    inner_->bind(of_inner);
  }

  void run(Stream& stream) override {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (type_ == DataType::bf16)
        widen_all<__nv_bfloat16>(i, stream);
      else
        widen_all<__half>(i, stream);
    }
    inner_->run(stream);
  }

  Execution execution() const override {
    Execution execution = inner_->execution();
    execution.storage = std::string(name(type_));
    execution.numbers.erase("kernels_s");  // of the inner operation's kernels alone
    // Products of 16-bit numbers are exact in tf32, too, so no result tells whether it was fp32 or
    // tf32.
    if (execution.evidence == "numerical") execution.evidence = "requested";
    for (const TensorSpec& wide : wide_) execution.workspace_bytes += wide.bytes;
    return execution;
  }

 private:
  static constexpr std::size_t inputs = 2;

  template <class Stored>
  void widen_all(std::size_t i, Stream& stream) const {
    const std::int64_t n = wide_[i].elements();
    check(for_each(ToFp32<Stored>{static_cast<const Stored*>(narrow_[i]),
                                  static_cast<float*>(inside_[i]->data()), n},
                   ToFp32<Stored>::items(n), cuda_stream(stream)),
          what_);
  }

  std::unique_ptr<Operation> inner_;
  std::string what_;
  DataType type_;
  std::size_t first_wide_;  ///< the arguments of `inner_` come before
  std::array<TensorSpec, inputs> wide_;
  std::array<void*, inputs> narrow_{};
  std::array<std::unique_ptr<CudaTensor>, inputs> inside_;
};

}  // namespace

std::unique_ptr<Operation> with_wide_inputs(const ConvProblem& problem,
                                            std::unique_ptr<Operation> inner) {
  return std::make_unique<WideInputs>(problem, std::move(inner));
}

}  // namespace assay::cuda
