#pragma once
// Trains a small form of a case's network with the trainer and with a reference that shares no code
// with it (--self-check).

#include <memory>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/reference_trainer.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Differences of the changes of the weights in two trainings.
struct TrainingDifference {
  /// ||found - expected|| / ||expected||: the largest value over all weights and the last layer's
  /// bias, and the value for all normalizations and other biases as one vector. (The terms of some
  /// of their gradients almost cancel, so their single relative errors prove nothing.)
  double largest = 0, normalizations = 0;
  std::string parameter;  ///< the parameter with `largest`
  /// |<found, expected> / <expected, expected> - 1|: the largest value over all weights, and over
  /// the last layer's weights and biases. Rounding errors have random directions and hardly affect
  /// it.
  double length = 0, last_length = 0;
  /// |<found, initial> / <expected, initial> - 1| over the filters. A normalization makes the
  /// gradient orthogonal to the filters, so only the decay contributes to these products.
  double decay = 0;
};

/// Bounds of TrainingDifference.
struct TrainingTolerance {
  double largest, normalizations, length, last_length, decay;
};
/// `operands`: their type in products (operand_type).
TrainingTolerance training_tolerance(DataType operands, bool sent_in_16_bits);

/// Trains a small form of the network for 5 steps: with the product's trainer as `trainer` and
/// `rate` say, and with a ReferenceTrainer as `small` and `claims` say. Both get the same images,
/// which differ between steps, passes and ranks. `gradients`: see Trainer::make. Collective.
/// CaseError if no backend computes the small network.
TrainingDifference training_difference(const TrainerSettings& trainer, double rate,
                                       const ReferenceNetwork& small, const ReferenceClaims& claims,
                                       Plugins& plugins, Communicator& ranks,
                                       const std::shared_ptr<Communicator>& gradients);

/// Computes training_difference() with the settings and backend choices of `trainer`, judges it by
/// training_tolerance(), and adds the result to `verification`. `small`: the small form of the
/// network by its definition. `claims`: the parameters of the case. Collective.
void self_check(Trainer& trainer, double rate, const ReferenceNetwork& small,
                const Settings& claims, Plugins& plugins, Communicator& ranks,
                const std::shared_ptr<Communicator>& gradients, Verification& verification);

}  // namespace assay
