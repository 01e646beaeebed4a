#pragma once
// Texts about a training, for the terminal and for its row.

#include <cstdint>
#include <optional>
#include <string>

#include "models/network/convergence.hpp"
#include "models/network/loss_scale.hpp"
#include "models/network/training_workload.hpp"

namespace assay {

/// "epoch 2: loss 0.6931, 512.0 images/s; validation: loss 0.5, accuracy 0.75"
std::string format_epoch(const EpochResult& result);
/// Why a training cannot continue after `step` ("step 3 of epoch 2"); nothing if it can.
std::optional<std::string> why_diverged(const LossScale& scale, const std::string& step);
/// The reason for ending the timing at step number `steps`: no loss scale makes its gradients
/// finite.
std::string describe_divergence(const LossScale& scale, std::int64_t steps);
/// The end of Verification::reference for a verified run: what else was compared.
std::string describe_reference(const TrainingRun& run);
/// The row's "executed".
Execution make_training_execution(Trainer& trainer, const TrainerSettings& settings);

}  // namespace assay
