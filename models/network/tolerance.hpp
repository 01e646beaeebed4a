#pragma once
// The required accuracy of a network.

#include "core/api/precision.hpp"
#include "models/network/input_shape.hpp"

namespace assay {

/// A type with the same significand as the operands of products: the storage type; for tf32 (stored
/// as fp32), fp16, whose significand has as many bits.
DataType operand_type(Precision precision);

/// The largest allowed distance of a network from fp64, relative to the 2-norm of each tensor.
struct NetworkTolerance {
  double forward;        ///< of losses, logits and statistics
  double gradients;      ///< of each tensor
  double all_gradients;  ///< of all gradients as one vector
};
/// `operands`: their type in products (operand_type). `labels`: with labels of pixels, the logits
/// need a larger tolerance, because no mean over a plane reduces their rounding errors.
NetworkTolerance network_tolerance(DataType operands, Labels labels = Labels::per_sample);

/// The tolerance between equal runs on equal data, whose sums may be made in different orders. In
/// 16-bit networks this covers only the sum over the ranks, which is in fp32. A rounding to 16 bits
/// that changes direction affects all later layers (by 0.1 and more): if an operation adds in no
/// fixed order, allow_spread() measures this effect. `narrow_sums`: for gradients whose parts may
/// be added in 16 bits, in any order; no layer reads them.
double compute_repeat_tolerance(Precision precision, bool narrow_sums = false);

}  // namespace assay
