// Recurrent networks by cuDNN.

#include "kernels/rnn/problem.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "kernels/cuda/arithmetic.hpp"
#include "kernels/cuda/backend.hpp"
#include "kernels/cuda/rnn_weights.hpp"
#include "kernels/cuda/trial_run.hpp"
#include "support/cuda/error.hpp"

namespace assay::cuda {
namespace {

class RecurrentNetwork final : public BoundOperation {
 public:
  RecurrentNetwork(CudnnDevice& device, const RnnProblem& problem, const RnnForm& form)
      : BoundOperation(form.specs),
        device_(device),
        problem_(problem),
        descriptors_(problem, form),
        lengths_(static_cast<std::size_t>(problem.shape().batch),
                 static_cast<std::int32_t>(problem.shape().steps)) {
    if (form.algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC)
      check(cudnnBuildRNNDynamic(device.cudnn(), descriptors_.network.get(),
                                 static_cast<int>(problem.shape().batch)),
            "compiling the persistent kernels");
    ask_for_spaces(form);
    const std::string algorithm =
        list_rnn_algorithm_names()[static_cast<std::size_t>(form.algorithm)];
    execution_.algorithm = algorithm;
    execution_.implementation =
        fmt::format("{} {}", cudnn_library(), math_name(form.arithmetic.math));
    execution_.storage = std::string(name(storage(problem.precision())));
    execution_.compute = form.arithmetic.compute;
    execution_.accumulate = form.arithmetic.accumulate;
    execution_.layout = fmt::format(
        "tnc ldnc, weights in cuDNN's weight space, {}",
        form.bias == CUDNN_RNN_DOUBLE_BIAS ? "CUDNN_RNN_DOUBLE_BIAS" : "CUDNN_RNN_SINGLE_INP_BIAS");
    execution_.workspace_bytes = work_bytes_;
  }

  /// Runs once. Returns why the run was not the requested one, or nothing. Throws if cuDNN refuses
  /// only now, or if something fails.
  std::optional<Unsupported> prove(const std::string& request) {
    const std::optional<KernelMeaning> seen = trial_run(device_, *this, request);
    note_sums(seen ? seen->names : "");
    if (!seen) {
      // The norm bounds of fp32 exclude tf32 (Oracle::widest_norm_bound).
      execution_.evidence = problem_.precision() == Precision::fp32 ? "numerical" : "requested";
      return std::nullopt;
    }
    execution_.implementation = seen->names;
    const std::string why = note_kernels(*seen, problem_.precision(), execution_);
    if (!why.empty()) return Unsupported{fmt::format("{}: {}", cudnn_library(), why)};
    return std::nullopt;
  }

  void bind(std::span<Tensor* const> tensors) override {
    std::map<std::string, void*> named;  // once, since run() is timed
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      named[arguments_[i].name] = tensors[i]->data();
    for (const std::string prefix : {"", "diff_"})
      for (const char* part : {"weights_layer", "bias"}) {
        const auto entry = named.find(prefix + part);
        if (entry != named.end() && entry->second != named[prefix + "weights_iter"])
          throw std::logic_error("rnn: weights of one set lie in several weight spaces");
      }
    // null if the direction, or the cell, lacks such a tensor; cuDNN then omits it.
    data_ = {named["src_layer"],
             named["src_iter"],
             named["src_iter_c"],
             named["dst_layer"],
             named["dst_iter"],
             named["dst_iter_c"],
             named["diff_src_layer"],
             named["diff_src_iter"],
             named["diff_src_iter_c"],
             named["diff_dst_layer"],
             named["diff_dst_iter"],
             named["diff_dst_iter_c"],
             named["weights_iter"],
             named["diff_weights_iter"],
             named["workspace"],
             named["reserve"],
             static_cast<std::int32_t*>(named["sequence_lengths"])};
  }

  void prologue(Stream& stream) override {
    device_.use(stream);
    device_.copy(data_.lengths, lengths_.data(), lengths_.size() * sizeof lengths_[0]);
    if (is_forward(problem_.direction())) return;
    forward(CUDNN_FWD_MODE_TRAINING);
    if (problem_.direction() == RnnDirection::bwd_weights) backward_data();
  }

  void run(Stream& stream) override {
    device_.use(stream);
    switch (problem_.direction()) {
      case RnnDirection::forward_inference:
        forward(CUDNN_FWD_MODE_INFERENCE);
        break;
      case RnnDirection::forward_training:
        forward(CUDNN_FWD_MODE_TRAINING);
        break;
      case RnnDirection::bwd_data:
        backward_data();
        break;
      case RnnDirection::bwd_weights:
        backward_weights(stream);
        break;
      case RnnDirection::bwd:
        backward_data();
        backward_weights(stream);
        break;
    }
  }

 private:
  /// Notes the properties of the sums of gates that bounds depend on (docs/method-rnn.md).
  /// `kernels`: their names, or "" if they are unknown.
  void note_sums(const std::string& kernels) {
    const bool persistent = kernels.find("RNN_persist_") != std::string::npos ||
                            kernels.find("ampere_lstm_") != std::string::npos;
    // cuDNN stores products of 16-bit tensors in their type, and adds them in another kernel: the
    // kernels of one step, seen on a GPU, are nvjet_…_bz_… (a product, to which nothing is added)
    // and elemWiseRNNcell. A persistent kernel computes the product with the states itself, and
    // does not store its sum.
    if (size_of(storage(problem_.precision())) == 2)
      execution_.numbers[rounds_gate_sums] = persistent && is_forward(problem_.direction()) ? 1 : 2;
    if (problem_.precision() == Precision::fp32 && problem_.shape().cell == RnnCell::gru_lbr &&
        execution_.algorithm == "persist_static" && (persistent || kernels.empty()))
      execution_.numbers[undocumented_arithmetic] = 1;
  }

  void ask_for_spaces(const RnnForm& form) {
    const WeightPlaces places = weight_places(device_, problem_, form, descriptors_);
    weight_bytes_ = places.bytes;
    share_weight_space(device_, problem_, places, "", arguments_);
    share_weight_space(device_, problem_, places, "diff_", arguments_);
    const RnnDirection direction = problem_.direction();
    const bool training = direction != RnnDirection::forward_inference;
    check(cudnnGetRNNTempSpaceSizes(device_.cudnn(), descriptors_.network.get(),
                                    training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE,
                                    descriptors_.x.get(), &work_bytes_, &reserve_bytes_),
          "asking cuDNN for the size of its work space");
    const auto add = [&](const char* name, Role role, std::size_t bytes) {
      if (bytes > 0) arguments_.push_back(bytes_tensor(name, role, bytes));
    };
    const std::size_t size = size_of(form.specs[0].type);
    const auto count_bytes = [&](std::int64_t width) {
      return static_cast<std::size_t>(problem_.shape().steps * problem_.shape().batch * width) *
             size;
    };
    add("sequence_lengths", Role::saved, lengths_.size() * sizeof lengths_[0]);
    if (!is_forward(direction)) {
      add("dst_layer", Role::saved,
          count_bytes(problem_.shape().directions * problem_.shape().hidden));
      // A backward pass may overwrite the reserve space of the forward pass (PyTorch copies it if
      // it needs it again).
      add("reserve", Role::consumed, reserve_bytes_);
      if (direction == RnnDirection::bwd_weights)
        add("diff_src_layer", Role::workspace, count_bytes(problem_.count_inputs(0)));
    } else {
      add("reserve", Role::saved, reserve_bytes_);
    }
    add("workspace", Role::workspace, work_bytes_);
  }

  cudnnTensorDescriptor_t cell_state() const {
    return problem_.has_cell_state() ? descriptors_.state.get() : nullptr;
  }
  void ran(cudnnStatus_t status, const char* what) const {
    if (status != CUDNN_STATUS_SUCCESS)
      throw CudnnError(
          fmt::format("{} ({}, {})", what, execution_.algorithm, name(problem_.direction())),
          status);
  }

  void forward(cudnnForwardMode_t mode) {
    ran(cudnnRNNForward(device_.cudnn(), descriptors_.network.get(), mode, data_.lengths,
                        descriptors_.x.get(), data_.x, descriptors_.y.get(), data_.y,
                        descriptors_.state.get(), data_.hx, data_.hy, cell_state(), data_.cx,
                        data_.cy, weight_bytes_, data_.weights, work_bytes_, data_.work,
                        reserve_bytes_, data_.reserve),
        "cudnnRNNForward");
  }

  void backward_data() {
    ran(cudnnRNNBackwardData_v8(
            device_.cudnn(), descriptors_.network.get(), data_.lengths, descriptors_.y.get(),
            data_.y, data_.dy, descriptors_.x.get(), data_.dx, descriptors_.state.get(), data_.hx,
            data_.dhy, data_.dhx, cell_state(), data_.cx, data_.dcy, data_.dcx, weight_bytes_,
            data_.weights, work_bytes_, data_.work, reserve_bytes_, data_.reserve),
        "cudnnRNNBackwardData_v8");
  }

  void backward_weights(Stream& stream) {
    // cuDNN adds gradients to the previous contents (CUDNN_WGRAD_MODE_SET is not supported).
    check(cudaMemsetAsync(data_.gradients, 0, weight_bytes_, cuda_stream(stream)),
          "zeroing the gradients of weights");
    ran(cudnnRNNBackwardWeights_v8(device_.cudnn(), descriptors_.network.get(),
                                   CUDNN_WGRAD_MODE_ADD, data_.lengths, descriptors_.x.get(),
                                   data_.x, descriptors_.state.get(), data_.hx,
                                   descriptors_.y.get(), data_.y, weight_bytes_, data_.gradients,
                                   work_bytes_, data_.work, reserve_bytes_, data_.reserve),
        "cudnnRNNBackwardWeights_v8");
  }

  /// Tensors by cuDNN's names of its arguments.
  struct Data {
    void *x, *hx, *cx, *y, *hy, *cy, *dx, *dhx, *dcx, *dy, *dhy, *dcy, *weights, *gradients, *work,
        *reserve;
    std::int32_t* lengths;
  };

  CudnnDevice& device_;
  RnnProblem problem_;
  RnnDescriptors descriptors_;
  std::vector<std::int32_t> lengths_;  ///< of the sequences of a batch, in GPU memory
  std::size_t weight_bytes_ = 0, work_bytes_ = 0, reserve_bytes_ = 0;
  Data data_{};
};

Result<std::unique_ptr<Operation>> make_rnn(Device& device, const Problem& problem,
                                            const Options& options, Communicator&) {
  const RnnProblem& rnn = problem_cast<RnnProblem>(problem);
  auto& place = static_cast<CudnnDevice&>(device);
  if (std::string why = why_not_precision(rnn.precision(), place.facts()); !why.empty())
    return Unsupported{std::move(why)};
  const std::string wanted = options.get("algorithm", "auto");
  Result<RnnForm> form = rnn_form(rnn, wanted);
  if (auto* refusal = std::get_if<Unsupported>(&form)) return std::move(*refusal);
  const std::string request =
      fmt::format("{} {}, {}, {}, input {}", wanted, name(rnn.direction()), name(rnn.precision()),
                  rnn.canonical(), name(rnn.input()));
  try {
    auto operation = std::make_unique<RecurrentNetwork>(place, rnn, std::get<RnnForm>(form));
    if (auto refusal = operation->prove(request))
      return Unsupported{fmt::format("{} ({})", refusal->reason, request)};
    return operation;
  } catch (const CudnnError& error) {
    if (!not_supported(error.status)) throw;
    return Unsupported{fmt::format("{}: {} ({})", cudnn_library(), error.words, request)};
  }
}

const Maker add_rnn{makers(), problem_kind<RnnProblem>(), &make_rnn, list_rnn_algorithm_names()};

}  // namespace
}  // namespace assay::cuda
