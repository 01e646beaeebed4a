// The native backend's recurrent networks as an operation. Each run widens 16-bit tensors to fp32
// and rounds results back, except for operands that the processor multiplies as bf16. Weights are
// packed before the runs, as libraries do. If weights must be widened, each run packs them, because
// it must read 16 bits.

#include "kernels/rnn/problem.hpp"

#include <fmt/format.h>

#include <memory>

#include "kernels/native/backend.hpp"
#include "kernels/native/parts.hpp"
#include "kernels/native/rnn_network.hpp"

namespace assay::native {
namespace {

class NativeRnn final : public BoundOperation {
 public:
  NativeRnn(const RnnProblem& problem, int threads)
      : BoundOperation(problem.tensors()),
        network_(problem, threads),
        table_(gemm_table()),
        threads_(threads),
        tensors_(arguments_.size()) {
    std::ptrdiff_t scratch = pad(network_.scratch(), channel_block);
    for (std::size_t i = 0; i < tensors_; ++i) {
      if (arguments_[i].type == DataType::fp32 || stays_narrow(arguments_[i].name)) continue;
      narrow_.push_back({i, scratch});
      widens_weights_ |= arguments_[i].name.starts_with("weights");
      scratch += pad(arguments_[i].elements(), channel_block);
    }
    const auto add = [&](const char* name, Role role, std::ptrdiff_t floats) {
      const std::size_t bytes = static_cast<std::size_t>(floats) * sizeof(float);
      arguments_.push_back(bytes_tensor(name, role, bytes));
      if (role == Role::workspace) execution_.workspace_bytes += bytes;
    };
    const bool forgets = problem.direction() == RnnDirection::forward_inference;
    add("states", forgets ? Role::workspace : Role::saved, network_.saved());
    add("packed_weights", widens_weights_ ? Role::workspace : Role::saved, network_.packed());
    add("workspace", Role::workspace, scratch);
    for (std::size_t i = tensors_; i < arguments_.size(); ++i) arguments_[i].memory = &large_pages;
    describe();
  }

  void bind(std::span<Tensor* const> tensors) override {
    BoundOperation::bind(tensors);
    std::map<std::string, float*, std::less<>> by_name;
    for (std::size_t i = 0; i < tensors_; ++i) by_name[arguments_[i].name] = data<float>(i);
    scratch_ = data<float>(tensors_ + 2);
    for (const Narrow& narrow : narrow_)
      by_name[arguments_[narrow.argument].name] = scratch_ + narrow.copy;
    network_.bind(std::move(by_name), data<float>(tensors_), data<float>(tensors_ + 1), scratch_);
  }

  void prologue(Stream&) override {
    const RnnDirection direction = network_.plan().problem.direction();
    if (!is_forward(direction)) {
      widen("");
      network_.pack_forward();
      network_.forward();
    }
    if (direction == RnnDirection::bwd_weights) {
      network_.pack_backward();
      network_.backward_data();
    } else if (!widens_weights_) {
      pack();
    }
  }

  void run(Stream&) override {
    // A backward pass reads the states of its forward pass, not the tensors from which these were
    // computed.
    widen(is_forward(network_.plan().problem.direction()) ? "" : "src_");
    if (widens_weights_ && network_.plan().problem.direction() != RnnDirection::bwd_weights) pack();
    compute();
    for (const Narrow& narrow : narrow_) {
      const TensorSpec& spec = arguments_[narrow.argument];
      if (spec.role != Role::output) continue;
      each_block(spec.elements(), [&](std::ptrdiff_t at, std::ptrdiff_t count) {
        table_.store(spec.type, scratch_ + narrow.copy + at, 0, 1, count,
                     element(data_[narrow.argument], spec.type, at), 0);
      });
    }
  }

 private:
  void describe() {
    const bool pairs = network_.plan().pairs;
    execution_.algorithm = "standard";
    execution_.implementation =
        fmt::format("standard:{}", pairs ? rnn_pairs()->target : gemm_table().target);
    execution_.storage = std::string(name(network_.plan().problem.precision()));
    execution_.compute = std::string(name(pairs ? DataType::bf16 : DataType::fp32));
    execution_.accumulate = std::string(name(DataType::fp32));
    // Only states are rounded to bf16, for their products; all other values stay fp32 up to the
    // results.
    if (execution_.storage != execution_.accumulate) execution_.operand_roundings = pairs ? 1 : 0;
    execution_.layout = fmt::format("tnc ldnc ldigo ldgo, weights packed {} the run",
                                    widens_weights_ ? "within" : "before");
    execution_.evidence = "library";
  }

  /// A 16-bit tensor, and the place of its fp32 copy in the scratch.
  struct Narrow {
    std::size_t argument;
    std::ptrdiff_t copy;
  };

  bool stays_narrow(const std::string& tensor) const {
    return network_.plan().pairs && (tensor.starts_with("weights") || tensor.ends_with("_layer"));
  }

  /// Calls body(first, count) for blocks of 16 elements, on all threads.
  template <class Body>
  void each_block(std::ptrdiff_t elements, const Body& body) const {
#pragma omp parallel for num_threads(threads_) schedule(static)
    for (std::ptrdiff_t at = 0; at < elements; at += channel_block)
      body(at, std::min(channel_block, elements - at));
  }

  /// Widens inputs, except those whose names begin with `except`.
  void widen(std::string_view except) {
    for (const Narrow& narrow : narrow_) {
      const TensorSpec& spec = arguments_[narrow.argument];
      if (spec.role != Role::input || (!except.empty() && spec.name.starts_with(except))) continue;
      each_block(spec.elements(), [&](std::ptrdiff_t at, std::ptrdiff_t count) {
        table_.load(spec.type, element(data_[narrow.argument], spec.type, at), 0, 1, count,
                    scratch_ + narrow.copy + at, channel_block);
      });
    }
  }

  void pack() {
    if (is_forward(network_.plan().problem.direction()))
      network_.pack_forward();
    else
      network_.pack_backward();
  }

  void compute() {
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

  RnnNetwork network_;
  const GemmTable& table_;
  int threads_;
  std::size_t tensors_ = 0;  ///< arguments that the problem has
  std::vector<Narrow> narrow_;
  bool widens_weights_ = false;
  float* scratch_ = nullptr;
};

Result<std::unique_ptr<Operation>> make_rnn(Device&, const Problem& problem, const Options& options,
                                            Communicator&) {
  const RnnProblem& rnn = problem_cast<RnnProblem>(problem);
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm != "auto" && algorithm != "standard")
    return Unsupported{fmt::format(
        "native has no {} recurrent network (it computes step by step). Use standard.", algorithm)};
  if (rnn.precision() != Precision::fp32 && rnn.precision() != Precision::bf16 &&
      rnn.precision() != Precision::fp16)
    return Unsupported{
        fmt::format("native has no {} recurrent network (its tensors are fp32, bf16 or fp16). "
                    "Use one of these.",
                    name(rnn.precision()))};
  return std::make_unique<NativeRnn>(rnn, std::max(1, options.threads));
}

const Maker add_rnn{makers(), problem_kind<RnnProblem>(), &make_rnn, {"standard"}};

}  // namespace
}  // namespace assay::native
