#pragma once
// Recurrent networks.
//
// Extents: T steps, N batch, H hidden size, I input size, L layers, D directions (2 if
// bidirectional), G gates, B biases (below). Logical layouts, row-major (as oneDNN's tnc, ldnc,
// ldigo and ldgo):
//   src_layer [T,N,I], src_iter [L,D,N,H], (lstm) src_iter_c [L,D,N,H]
//   weights_layer [L,D,I,G,H], weights_iter [L,D,H,G,H], bias [L,D,B,H]
//   dst_layer [T,N,D*H], dst_iter [L,D,N,H], (lstm) dst_iter_c [L,D,N,H]
// A gradient has its tensor's shape and the prefix diff_. Tensor names:
//   forward_inference, forward_training   src_*, weights_*, bias -> dst_*
//   bwd_data      inputs of forward, diff_dst_*  -> diff_src_*
//   bwd_weights   inputs of forward, diff_dst_*  -> diff_weights_*, diff_bias
//   bwd           inputs of forward, diff_dst_*  -> the outputs of both
// A backward pass reads what an untimed forward pass has saved (Role::saved). bwd_weights also
// reads the gradients of the gates, which an untimed bwd_data has saved.
//
// Cells (x: input; h: state before the step; s: logistic function; *: element-wise product):
//   vanilla_relu, vanilla_tanh   G = 1   h' = act(Wx + Uh + b)
//   lstm      G = 4: i, f, g, o  i, f, o = s(Wx + Uh + b), g = tanh(…); c' = f*c + i*g;
//                                h' = o*tanh(c')
//   gru       G = 3: u, r, o     u, r = s(Wx + Uh + b); o = tanh(W_o x + U_o (r*h) + b_o);
//                                h' = u*h + (1 - u)*o; resets before the product (Cho et al. 2014,
//                                oneDNN's vanilla_gru)
//   gru_lbr   G = 3: u, r, o     as gru, but o = tanh(W_o x + b_o + r*(U_o h + b'_o)), "linear
//                                before reset" (cuDNN's and PyTorch's GRU, oneDNN's lbr_gru)
// Each gate of a layer and direction has one bias vector (B = G); gru_lbr has b'_o as a fourth (B =
// 4). The second direction goes from the last step to the first. The states of both directions are
// concatenated, forward first, in dst_layer and between layers, as in cuDNN and PyTorch; so layers
// after the first read D*H values. The input `skip` (cuDNN's CUDNN_SKIP_INPUT, used by DeepBench)
// leaves the first layer without input weights: x is added to the sum of every gate. Then I = H,
// and weights_layer has L - 1 layers (does not exist if L = 1). All layers of weights_layer have
// the same shape, so linear input with L > 1 needs I = D*H.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/problem_version/rnn.hpp"
#include "core/api/operation.hpp"
#include "core/api/oracle.hpp"
#include "core/base/name_table.hpp"

namespace assay {

enum class RnnCell { vanilla_relu, vanilla_tanh, lstm, gru, gru_lbr };
const NameTable<RnnCell>& get_name_table(RnnCell);

struct RnnShape {
  RnnCell cell = RnnCell::lstm;
  std::int64_t hidden = 0, batch = 0, steps = 0, layers = 1, directions = 1, input = 0;
  bool operator==(const RnnShape&) const = default;

  std::int64_t gates() const {
    return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru || cell == RnnCell::gru_lbr ? 3 : 1;
  }
  std::int64_t biases() const { return cell == RnnCell::gru_lbr ? 4 : gates(); }
};

/// Parses "lstm:1024-64-25" (cell:hidden-batch-steps, as in DeepBench), followed in any order by
/// "-l2" (layers), "-bi" (bidirectional) and "-i512" (input size; by default H, or D*H for several
/// layers). Also parses the cell and benchdnn's extents:
/// "lstm:l1t25mb64sic1024slc1024dhc1024dic1024" (slc is the input size; sic and dic must equal dhc,
/// since projections are not supported). InputError names the field that is unknown, missing, given
/// twice, zero, negative or too large.
RnnShape parse_rnn(const std::string& descriptor);
/// The normalised descriptor in the first form: parse_rnn(to_descriptor(s)) == s.
std::string to_descriptor(const RnnShape& shape);

enum class RnnInput { linear, skip };
const NameTable<RnnInput>& get_name_table(RnnInput);
enum class RnnDirection { forward_inference, forward_training, bwd_data, bwd_weights, bwd };
const NameTable<RnnDirection>& get_name_table(RnnDirection);
inline bool is_forward(RnnDirection direction) {
  return direction == RnnDirection::forward_inference ||
         direction == RnnDirection::forward_training;
}

class RnnProblem final : public ShapedProblem<RnnProblem, RnnShape> {
 public:
  static constexpr const char* kind_name = "rnn";
  static constexpr const char* kind_version = problem_version::rnn;
  /// InputError for an impossible shape (a skipped input whose size is not H).
  RnnProblem(const RnnShape& shape, RnnInput input, RnnDirection direction, Precision precision);
  std::string canonical() const override { return to_descriptor(shape_); }
  nlohmann::json json() const override;
  /// Operations of the products with weights, as DeepBench counts them: for each layer and
  /// direction of states 2 G N T H (H + inputs of the layer), where a skipped input counts 0.
  /// Forward, bwd_data and bwd_weights have this number each, bwd has twice as many. (DeepBench,
  /// results/train/DeepBench_NV_V100.xlsx: 2, 6 and 8 H^2 N T for G = 1, 3 and 4 with a skipped
  /// input.)
  double flops() const override;
  /// Counts each operand once, in the type of storage. A backward pass has these operands: the
  /// gates that its forward pass saved (in bwd_weights their gradients); for gradients of weights,
  /// the saved state before each step, and the inputs; the outputs; and (except in bwd_weights)
  /// weights and diff_dst_*.
  double bytes() const override;

  RnnInput input() const { return input_; }
  RnnDirection direction() const { return direction_; }
  bool skips() const { return input_ == RnnInput::skip; }
  bool has_cell_state() const { return shape_.cell == RnnCell::lstm; }
  /// Number of values that a layer reads at each step.
  std::int64_t count_inputs(std::int64_t layer) const {
    if (layer > 0) return shape_.directions * shape_.hidden;
    return skips() ? shape_.hidden : shape_.input;
  }
  /// Number of layers in weights_layer, and the index of a layer in it (-1: it has no weights).
  std::int64_t weighted_layers() const { return shape_.layers - (skips() ? 1 : 0); }
  std::int64_t find_place(std::int64_t layer) const { return layer - (skips() ? 1 : 0); }
  /// Specs in row-major order: inputs, then outputs, in the order of the table above. Types as in
  /// oneDNN: all tensors have the type of the precision, except that with bf16 biases, cell states
  /// (*_c) and gradients (diff_*) are fp32.
  std::vector<TensorSpec> tensors() const;

 private:
  bool is_moved(const TensorSpec& tensor) const;

  RnnInput input_;
  RnnDirection direction_;
};

/// The number that Execution reports for the sums of a gate (over inputs, over states) that are
/// rounded to 16 bits before the gate's function. Without it there are none.
inline constexpr const char* rounds_gate_sums = "gate_sum_roundings";

/// Expected values in fp64 of whole rows of the batch (of weight gradients: of all rows), and error
/// bounds by propagation of rounding errors (docs/method-rnn.md).
std::unique_ptr<Oracle> make_rnn_oracle(const RnnProblem& problem);

}  // namespace assay
