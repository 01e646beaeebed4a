#include "kernels/rnn/problem.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"

namespace assay {

const NameTable<RnnCell>& get_name_table(RnnCell) {
  static const NameTable<RnnCell> table({"vanilla_relu", "vanilla_tanh", "lstm", "gru", "gru_lbr"},
                                        "cell");
  return table;
}
const NameTable<RnnInput>& get_name_table(RnnInput) {
  static const NameTable<RnnInput> table({"linear", "skip"}, "input");
  return table;
}
const NameTable<RnnDirection>& get_name_table(RnnDirection) {
  static const NameTable<RnnDirection> table(
      {"forward_inference", "forward_training", "bwd_data", "bwd_weights", "bwd"}, "direction");
  return table;
}

RnnProblem::RnnProblem(const RnnShape& shape, RnnInput input, RnnDirection direction,
                       Precision precision)
    : ShapedProblem(shape, precision), input_(input), direction_(direction) {
  // A shape made by hand passes the same checks as a descriptor.
  const std::string text = to_descriptor(shape);
  if (!(parse_rnn(text) == shape))
    throw InputError(fmt::format("rnn shape {} is invalid (no descriptor gives it).", text));
  const std::int64_t joined = shape.directions * shape.hidden;
  // A descriptor of several layers without i means an input of D*H values. This input is accepted
  // for a skipped input, too.
  const bool by_default = shape.layers > 1 && shape.input == joined;
  if (skips() && shape.input != shape.hidden && !by_default)
    throw InputError(
        fmt::format("rnn problem '{}': input is {}, but a skipped input is added to the {} hidden "
                    "values of each gate. Leave i{} out, or use --input linear.",
                    text, shape.input, shape.hidden, shape.input));
  if (!skips() && shape.layers > 1 && shape.input != joined)
    throw InputError(
        fmt::format("rnn problem '{}': input is {}, but the layers of a stack have weights of "
                    "one shape (each reads the {} values of the layer below). Leave i{} out.",
                    text, shape.input, joined, shape.input));
}

nlohmann::json RnnProblem::json() const {
  return {{"hidden", shape_.hidden}, {"batch", shape_.batch},    {"steps", shape_.steps},
          {"layers", shape_.layers}, {"input", count_inputs(0)}, {"directions", shape_.directions}};
}

double RnnProblem::flops() const {
  double products = 0;
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer)
    products +=
        static_cast<double>(shape_.hidden + (find_place(layer) < 0 ? 0 : count_inputs(layer)));
  const double once = 2 * static_cast<double>(shape_.gates() * shape_.directions) *
                      static_cast<double>(shape_.batch * shape_.steps) *
                      static_cast<double>(shape_.hidden) * products;
  return direction_ == RnnDirection::bwd ? 2 * once : once;
}

/// True if a run must read or write a tensor of the problem. A backward pass reads saved values of
/// its forward pass instead of states and biases; bwd_weights reads them also instead of weights
/// and gradients.
bool RnnProblem::is_moved(const TensorSpec& tensor) const {
  if (is_forward(direction_) || tensor.role == Role::output) return true;
  const bool for_weights = direction_ != RnnDirection::bwd_data;
  if (tensor.name == "src_layer") return for_weights && !skips();
  if (tensor.name.starts_with("weights") || tensor.name.starts_with("diff_dst"))
    return direction_ != RnnDirection::bwd_weights;
  return false;
}

double RnnProblem::bytes() const {
  double sum = 0;
  for (const TensorSpec& tensor : tensors())
    if (is_moved(tensor)) sum += static_cast<double>(tensor.bytes);
  if (is_forward(direction_)) return sum;
  // For each unit and step, a run reads the gates or their gradients, and the operands with which
  // the gradients of recurrent weights multiply them.
  const std::int64_t values = shape_.gates() + (direction_ == RnnDirection::bwd_data ? 0 : 1);
  return sum + static_cast<double>(shape_.layers * shape_.directions * values) *
                   static_cast<double>(shape_.steps * shape_.batch * shape_.hidden) *
                   static_cast<double>(size_of(storage(precision_)));
}

std::vector<TensorSpec> RnnProblem::tensors() const {
  const RnnShape& s = shape_;
  const DataType narrow = storage(precision_),
                 wide = precision_ == Precision::bf16 ? DataType::fp32 : narrow;
  using Dims = std::vector<std::int64_t>;
  const Dims src{s.steps, s.batch, count_inputs(0)},
      state{s.layers, s.directions, s.batch, s.hidden},
      layer{weighted_layers(), s.directions, count_inputs(s.layers - 1), s.gates(), s.hidden},
      iter{s.layers, s.directions, s.hidden, s.gates(), s.hidden},
      bias{s.layers, s.directions, s.biases(), s.hidden},
      dst{s.steps, s.batch, s.directions * s.hidden};
  std::vector<TensorSpec> all;
  const auto add = [&](const char* name, Role role, DataType type, const Dims& dims) {
    all.push_back(plain_tensor(name, role, type, dims));
  };
  const bool cell_state = has_cell_state();
  const auto add_states = [&](const std::string& sequence, const Dims& dims,
                              const std::string& states, Role role, DataType type) {
    add(sequence.c_str(), role, type, dims);
    add(states.c_str(), role, type, state);
    if (cell_state) add((states + "_c").c_str(), role, wide, state);
  };
  add_states("src_layer", src, "src_iter", Role::input, narrow);
  if (weighted_layers() > 0) add("weights_layer", Role::input, narrow, layer);
  add("weights_iter", Role::input, narrow, iter);
  add("bias", Role::input, wide, bias);
  if (is_forward(direction_)) {
    add_states("dst_layer", dst, "dst_iter", Role::output, narrow);
    return all;
  }
  add_states("diff_dst_layer", dst, "diff_dst_iter", Role::input, wide);
  if (direction_ != RnnDirection::bwd_weights)
    add_states("diff_src_layer", src, "diff_src_iter", Role::output, wide);
  if (direction_ != RnnDirection::bwd_data) {
    if (weighted_layers() > 0) add("diff_weights_layer", Role::output, wide, layer);
    add("diff_weights_iter", Role::output, wide, iter);
    add("diff_bias", Role::output, wide, bias);
  }
  return all;
}

}  // namespace assay
