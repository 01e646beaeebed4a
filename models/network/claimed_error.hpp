#pragma once
// The squared error and the correlation of a sample by their definition.

#include <span>

#include "models/network/claimed_losses.hpp"

namespace assay {

struct ClaimedError {
  ClaimedLoss loss;         ///< mean of (output - target)^2
  ClaimedLoss correlation;  ///< Pearson's; 0 where all outputs or all targets are equal
};
/// `u`: roundoff of the results' type; sums are in fp64.
ClaimedError compute_claimed_error(std::span<const double> outputs, std::span<const double> targets,
                                   double u);

}  // namespace assay
