#pragma once
// Recurrent networks: cells, shapes by descriptor, five directions, FLOPs and bytes, and the fp64
// reference with its error bound.
//
// Extents: T steps, N batch, H hidden, I input, L layers, D directions (2: bidirectional), G gates.
// Logical layouts, row-major (as oneDNN's tnc, ldnc, ldigo and ldgo):
//   src_layer [T,N,I], src_iter [L,D,N,H], (lstm) src_iter_c [L,D,N,H]
//   weights_layer [L,D,I,G,H], weights_iter [L,D,H,G,H], bias [L,D,B,H]
//   dst_layer [T,N,D*H], dst_iter [L,D,N,H], (lstm) dst_iter_c [L,D,N,H]
// A gradient has its tensor's shape and the prefix diff_.
//   forward_inference, forward_training   src_*, weights_*, bias -> dst_*
//   bwd_data      the same, diff_dst_*  -> diff_src_*
//   bwd_weights   the same, diff_dst_*  -> diff_weights_*, diff_bias
//   bwd           the same, diff_dst_*  -> both
// A backward pass reads what its forward pass saved (Role::saved); making it is not timed.
// bwd_weights also finds the gradients of the gates, which bwd_data makes, saved.
//
// Cells (x: input, h: state before the step; s: logistic function; *: element by element):
//   vanilla_relu, vanilla_tanh   G = 1   h' = act(Wx + Uh + b)
//   lstm      G = 4: i, f, g, o  i, f, o = s(Wx + Uh + b), g = tanh(…); c' = f*c + i*g;
//                                h' = o*tanh(c')
//   gru       G = 3: u, r, o     u, r = s(Wx + Uh + b); o = tanh(W_o x + U_o (r*h) + b_o);
//                                h' = u*h + (1 - u)*o: reset before the product (Cho et al. 2014,
//                                oneDNN's vanilla_gru)
//   gru_lbr   G = 3: u, r, o     o = tanh(W_o x + b_o + r*(U_o h + b'_o)): linear before reset
//                                (cuDNN's and PyTorch's GRU, oneDNN's lbr_gru)
// There is one bias vector for each gate, layer and direction (B = G); gru_lbr has b'_o as its
// fourth (B = 4). The second direction walks from the last step to the first. The states of both
// directions are concatenated, forward first, in dst_layer and between layers, as cuDNN and PyTorch
// do it: layers after the first read D*H values.
// Input `skip` (cuDNN's CUDNN_SKIP_INPUT, DeepBench): the first layer has no input weights, x is
// added to the sum of every gate; then I = H, and weights_layer has L - 1 layers (with one layer,
// there is none).
// A stack has one shape of weights: with L > 1, linear input needs I = D*H.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/problem_version/rnn.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"

namespace assay {

enum class RnnCell { vanilla_relu, vanilla_tanh, lstm, gru, gru_lbr };
/// Names of cells, in the enumeration's order.
const std::vector<std::string>& rnn_cell_names();
const std::string& name(RnnCell cell);
RnnCell rnn_cell(const std::string& name);  ///< InputError for a name that is none

struct RnnShape {
  RnnCell cell = RnnCell::lstm;
  std::int64_t hidden = 0, batch = 0, steps = 0, layers = 1, directions = 1, input = 0;
  bool operator==(const RnnShape&) const = default;

  std::int64_t gates() const {
    return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru || cell == RnnCell::gru_lbr ? 3 : 1;
  }
  std::int64_t biases() const { return cell == RnnCell::gru_lbr ? 4 : gates(); }
};

/// "lstm:1024-64-25" (cell, hidden-batch-steps, as DeepBench has it), then in any order "-l2"
/// (layers), "-bi" (bidirectional), "-i512" (input size; else H, in a stack D*H). Or benchdnn's
/// extents behind the cell: "lstm:l1t25mb64sic1024slc1024dhc1024dic1024" (slc: input; sic and dic
/// equal dhc, since there is no projection). InputError names the field: unknown, missing, twice,
/// zero, negative, too large.
RnnShape parse_rnn(const std::string& descriptor);
/// The normalised descriptor, in the first form: parse_rnn(to_descriptor(s)) == s.
std::string to_descriptor(const RnnShape& shape);

enum class RnnInput { linear, skip };
enum class RnnDirection { forward_inference, forward_training, bwd_data, bwd_weights, bwd };
const std::vector<std::string>& rnn_input_names();
const std::vector<std::string>& rnn_direction_names();
const std::string& name(RnnInput input);
const std::string& name(RnnDirection direction);
/// The one of that name; InputError for a name that is none.
RnnInput rnn_input(const std::string& name);
RnnDirection rnn_direction(const std::string& name);
inline bool is_forward(RnnDirection direction) {
  return direction == RnnDirection::forward_inference ||
         direction == RnnDirection::forward_training;
}

class RnnProblem final : public ProblemOf<RnnProblem> {
 public:
  static constexpr const char* kind_name = "rnn";
  static constexpr const char* kind_version = problem_version::rnn;
  /// InputError where the shape is none (a skipped input of another size than H).
  RnnProblem(const RnnShape& shape, RnnInput input, RnnDirection direction, Precision precision);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// Of the products with weights, as DeepBench counts them: 2 G N T H (H + inputs of the layer)
  /// for each layer and direction of states, where a skipped input counts nothing. Forward,
  /// bwd_data and bwd_weights have as many each, bwd twice as many. (DeepBench,
  /// results/train/DeepBench_NV_V100.xlsx: 2, 6 and 8 H^2 N T with a skipped input.)
  double flops() const override;
  double bytes() const override;

  const RnnShape& shape() const { return shape_; }
  RnnInput input() const { return input_; }
  RnnDirection direction() const { return direction_; }
  Precision precision() const { return precision_; }
  bool skips() const { return input_ == RnnInput::skip; }
  bool has_cell_state() const { return shape_.cell == RnnCell::lstm; }
  /// Values that a layer reads at each step.
  std::int64_t inputs_of(std::int64_t layer) const {
    if (layer > 0) return shape_.directions * shape_.hidden;
    return skips() ? shape_.hidden : shape_.input;
  }
  /// Layers that weights_layer has, and the place of a layer in it (-1: it has none).
  std::int64_t weighted_layers() const { return shape_.layers - (skips() ? 1 : 0); }
  std::int64_t place_of(std::int64_t layer) const { return layer - (skips() ? 1 : 0); }
  /// Specs without layout: inputs, then outputs, in the order of the table above, row-major bytes.
  /// Types as in oneDNN: fp32 all fp32, fp16 all fp16; with bf16 biases, cell states (*_c) and
  /// gradients (diff_*) are fp32.
  std::vector<TensorSpec> tensors() const;

 private:
  RnnShape shape_;
  RnnInput input_;
  RnnDirection direction_;
  Precision precision_;
};

/// fp64 values of whole batch rows (weight gradients: of all rows), bounds by propagated rounding
/// errors (docs/method-rnn.md).
std::unique_ptr<Oracle> rnn_oracle(const RnnProblem& problem);

}  // namespace assay
