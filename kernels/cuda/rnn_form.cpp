#include "kernels/cuda/rnn_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>

namespace assay::cuda {
namespace {

cudnnRNNMode_t to_cudnn_mode(RnnCell cell) {
  switch (cell) {
    case RnnCell::vanilla_relu:
      return CUDNN_RNN_RELU;
    case RnnCell::vanilla_tanh:
      return CUDNN_RNN_TANH;
    case RnnCell::lstm:
      return CUDNN_LSTM;
    default:
      return CUDNN_GRU;
  }
}

void set_sequence(const RnnDataDescriptor& descriptor, const RnnShape& s, std::int64_t width,
                  cudnnDataType_t type, const char* name) {
  const std::vector<int> lengths(static_cast<std::size_t>(s.batch), static_cast<int>(s.steps));
  check(cudnnSetRNNDataDescriptor(descriptor.get(), type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED,
                                  static_cast<int>(s.steps), static_cast<int>(s.batch),
                                  static_cast<int>(width), lengths.data(), nullptr),
        fmt::format("describing '{}' to cuDNN", name));
}

}  // namespace

const std::vector<std::string>& list_rnn_algorithm_names() {
  static const std::vector<std::string> names{"standard", "persist_static", "persist_dynamic"};
  return names;
}

GateIds gate_ids(RnnCell cell, std::int64_t gate) {
  // cuDNN API, cudnnGetRNNWeightParams: LSTM input, forget, new, output, as in Assay; GRU reset,
  // update, new, while Assay's order is update, reset, new. The recurrent matrices follow in the
  // same order.
  if (cell == RnnCell::gru || cell == RnnCell::gru_lbr) {
    static constexpr std::array order{1, 0, 2};
    const int id = order[static_cast<std::size_t>(gate)];
    return {id, id + 3};
  }
  return {static_cast<int>(gate), static_cast<int>(gate) + (cell == RnnCell::lstm ? 4 : 1)};
}

Result<RnnForm> rnn_form(const RnnProblem& problem, const std::string& algorithm) {
  const auto& names = list_rnn_algorithm_names();
  const std::string wanted = algorithm == "auto" ? names.front() : algorithm;
  const auto place = std::find(names.begin(), names.end(), wanted);
  if (place == names.end())
    return Unsupported{fmt::format("cuDNN has no {} recurrent network (it has auto, {})", wanted,
                                   fmt::join(names, ", "))};
  const RnnShape& s = problem.shape();
  if (s.cell == RnnCell::gru)
    return Unsupported{
        "cuDNN has no GRU that resets before the product (its GRU is gru_lbr, linear before "
        "reset). Use gru_lbr."};
  RnnForm form;
  form.specs = problem.tensors();
  for (TensorSpec& spec : form.specs) {
    spec.type = storage(problem.precision());
    spec.bytes = static_cast<std::size_t>(spec.elements()) * size_of(spec.type);
    if (spec.elements() > INT_MAX)
      return Unsupported{fmt::format(
          "cuDNN's descriptors hold up to {} elements ('{}' has {}). Use a smaller batch.", INT_MAX,
          spec.name, spec.elements())};
  }
  form.algorithm = static_cast<cudnnRNNAlgo_t>(place - names.begin());
  form.cell = to_cudnn_mode(s.cell);
  // One bias for each gate, in the product with the input; a linear reset has one in each product.
  // cuDNN Developer Guide 7.6, cudnnSetRNNBiasMode: all algorithms except standard support only two
  // biases.
  const bool two = s.cell == RnnCell::gru_lbr || form.algorithm != CUDNN_RNN_ALGO_STANDARD;
  form.bias = two ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_SINGLE_INP_BIAS;
  form.arithmetic = choose_arithmetic(problem.precision());
  // cuDNN API, cudnnSetRNNDescriptor_v8: fp32 tensors have two modes: DEFAULT, which permits tf32
  // from compute capability 8.0 on, and one that rounds to fp16. cuDNN 7 rounded so in TENSOR_OP.
  if (problem.precision() == Precision::tf32) form.arithmetic.math = CUDNN_DEFAULT_MATH;
  return form;
}

RnnDescriptors::RnnDescriptors(const RnnProblem& problem, const RnnForm& form) {
  const RnnShape& s = problem.shape();
  const cudnnDataType_t type = cudnn_type(form.specs[0].type);
  const auto hidden = static_cast<std::int32_t>(s.hidden);
  // Products of 16-bit tensors are summed in fp32, as in mixed-precision training.
  check(cudnnSetRNNDescriptor_v8(
            network.get(), form.algorithm, form.cell, form.bias,
            s.directions == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
            problem.skips() ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT, type, CUDNN_DATA_FLOAT,
            form.arithmetic.math, static_cast<std::int32_t>(problem.count_inputs(0)), hidden,
            hidden, static_cast<std::int32_t>(s.layers), nullptr, CUDNN_RNN_PADDED_IO_DISABLED),
        "describing the recurrent network to cuDNN");
  set_sequence(x, s, problem.count_inputs(0), type, "src_layer");
  set_sequence(y, s, s.directions * s.hidden, type, "dst_layer");
  const std::array dims{static_cast<int>(s.layers * s.directions), static_cast<int>(s.batch),
                        static_cast<int>(s.hidden)};
  const std::array strides{dims[1] * dims[2], dims[2], 1};
  check(cudnnSetTensorNdDescriptor(state.get(), type, 3, dims.data(), strides.data()),
        "describing the states to cuDNN");
}

}  // namespace assay::cuda
