#pragma once
// The accuracy that a network has to have.

#include "core/api/precision.hpp"
#include "models/network/input_shape.hpp"

namespace assay {

/// The type whose significand the operands of products have: that of storage, but of tf32, whose
/// tensors are fp32, that of fp16, which has as many bits.
DataType operand_type(Precision precision);

/// The largest distance of a network from fp64, as a part of the 2-norm of each tensor.
struct NetworkTolerance {
  double forward;        ///< of losses, logits and statistics
  double gradients;      ///< of each tensor
  double all_gradients;  ///< of all of them as one vector
};
/// `operands`: their type in products (operand_type). `labels`: those of pixels have logits that no
/// mean over a plane has rid of rounding errors.
NetworkTolerance network_tolerance(DataType operands, Labels labels = Labels::per_sample);

/// The tolerance between equal runs on equal data: their sums may be made in another order. With 16
/// bits that is so of the sum over the ranks alone, which is fp32. A rounding to 16 bits that goes
/// another way shows in all layers (0.1 and more): allow_spread() measures it where an operation
/// adds in no fixed order. `narrow_sums`: of gradients whose parts may be added in 16 bits, in any
/// order. No layer reads them.
double compute_repeat_tolerance(Precision precision, bool narrow_sums = false);

}  // namespace assay
