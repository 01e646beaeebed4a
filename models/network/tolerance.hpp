#pragma once
// How accurate a network has to be.

#include "core/api/precision.hpp"

namespace assay {

/// How far a network may be from fp64, as a part of the 2-norm of each tensor.
struct NetworkTolerance {
  double forward;        ///< of losses, logits and statistics
  double gradients;      ///< of each tensor
  double all_gradients;  ///< of all of them as one vector
};
/// Where activations are stored in this type.
NetworkTolerance network_tolerance(DataType stored);

}  // namespace assay
