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
  /// ||found - expected|| / ||expected||: the largest one of the weights and the last layer's bias,
  /// and that of all normalizations and other biases as one vector. (The gradients of some of these
  /// almost cancel, and their relative errors say nothing.)
  double largest = 0, normalizations = 0;
  std::string parameter;  ///< the one that has the largest
  /// |<found, expected> / <expected, expected> - 1|: the largest one of the weights, and that of
  /// the last layer's weights and biases. Rounding errors have all directions and hardly affect it.
  double length = 0, last_length = 0;
  /// |<found, initial> / <expected, initial> - 1| over the filters. A normalization makes the
  /// gradient of its filters orthogonal to them, so this is the part of the decay.
  double decay = 0;
};

/// Bounds of TrainingDifference.
struct TrainingTolerance {
  double largest, normalizations, length, last_length, decay;
};
/// `operands`: their type in products (operand_type).
TrainingTolerance training_tolerance(DataType operands, bool sent_in_16_bits);

/// Trains 5 steps of a small form of the network: as `trainer` and `rate` say with the product's
/// trainer, and as `small` and `claims` say with a ReferenceTrainer. Both get the same images,
/// which differ between steps, passes and ranks. `gradients` is as in Trainer::make. Collective.
/// CaseError if no backend computes the small network.
TrainingDifference training_difference(const TrainerSettings& trainer, double rate,
                                       const ReferenceNetwork& small, const ReferenceClaims& claims,
                                       Plugins& plugins, Communicator& ranks,
                                       const std::shared_ptr<Communicator>& gradients);

/// Judges that by training_tolerance(), with the settings and the choices of backends of `trainer`,
/// and adds it to `verification`. `small` is the small form of the network by its definition,
/// `claims` are the parameters of the case. Collective.
void self_check(Trainer& trainer, double rate, const ReferenceNetwork& small,
                const Settings& claims, Plugins& plugins, Communicator& ranks,
                const std::shared_ptr<Communicator>& gradients, Verification& verification);

}  // namespace assay
