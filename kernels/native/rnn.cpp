// The native backend's recurrent networks as an operation.

#include "kernels/rnn/problem.hpp"

#include <fmt/format.h>

#include "kernels/native/backend.hpp"
#include "kernels/native/rnn_network.hpp"

namespace assay::native {
namespace {

class NativeRnn final : public Operation {
 public:
  NativeRnn(const RnnProblem& problem, int threads) : network_(problem, threads) {
    arguments_ = problem.tensors();
    tensors_ = arguments_.size();
    TensorSpec states = workspace(static_cast<std::size_t>(network_.saved()) * sizeof(float));
    states.name = "states";
    if (problem.direction() != RnnDirection::forward_inference) states.role = Role::saved;
    arguments_.push_back(std::move(states));
    arguments_.push_back(workspace(static_cast<std::size_t>(network_.scratch()) * sizeof(float)));
  }

  const std::vector<TensorSpec>& arguments() const override { return arguments_; }

  void bind(std::span<Tensor* const> tensors) override {
    std::map<std::string, float*, std::less<>> by_name;
    for (std::size_t i = 0; i < tensors_; ++i)
      by_name[arguments_[i].name] = static_cast<float*>(tensors[i]->data());
    network_.bind(std::move(by_name), static_cast<float*>(tensors[tensors_]->data()),
                  static_cast<float*>(tensors[tensors_ + 1]->data()));
  }

  void prologue(Stream&) override {
    const RnnDirection direction = network_.plan().problem.direction();
    if (is_forward(direction)) return;
    network_.forward();
    if (direction == RnnDirection::bwd_weights) network_.backward_data();
  }

  void run(Stream&) override {
    switch (network_.plan().problem.direction()) {
      case RnnDirection::forward_inference:
      case RnnDirection::forward_training:
        network_.forward();
        break;
      case RnnDirection::bwd_data:
        network_.backward_data();
        break;
      case RnnDirection::bwd_weights:
        network_.backward_weights();
        break;
      case RnnDirection::bwd:
        network_.backward_data();
        network_.backward_weights();
        break;
    }
  }

  Executed executed() const override {
    Executed out;
    out.algorithm = "standard";
    out.implementation = fmt::format("standard:{}", gemm_table().target);
    out.storage = out.compute = out.accumulate = std::string(name(DataType::fp32));
    out.layout = "tnc ldnc ldigo ldgo, weights packed within the run";
    for (const TensorSpec& spec : arguments_)
      if (spec.role == Role::workspace) out.workspace_bytes += spec.bytes;
    out.evidence = "library";
    return out;
  }

 private:
  RnnNetwork network_;
  std::vector<TensorSpec> arguments_;
  std::size_t tensors_ = 0;  ///< arguments that the problem has
};

Result<std::unique_ptr<Operation>> make_rnn(Device&, const Problem& problem, const Options& options,
                                            Communicator&) {
  const RnnProblem& rnn = problem_cast<RnnProblem>(problem);
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm != "auto" && algorithm != "standard")
    return Unsupported{fmt::format(
        "native has no {} recurrent network (it computes step by step). Use standard.", algorithm)};
  if (rnn.precision() != Precision::fp32)
    return Unsupported{
        fmt::format("native has no {} recurrent network (it computes in fp32). Use fp32.",
                    name(rnn.precision()))};
  return std::make_unique<NativeRnn>(rnn, std::max(1, options.threads));
}

const Maker add_rnn{makers(), kind_of<RnnProblem>(), &make_rnn, {"standard"}};

}  // namespace
}  // namespace assay::native
