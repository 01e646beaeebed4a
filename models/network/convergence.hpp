#pragma once
// Training to a stated quality (scores.hpp).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "models/network/batches.hpp"
#include "models/network/evaluator.hpp"
#include "models/network/schedule.hpp"
#include "models/network/step_oracle.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class TrainingOracle;  // training_oracle.hpp

struct ConvergenceSettings {
  std::int64_t epochs = 0;  ///< largest number of epochs
  double target = 1;        ///< score of a validation at which training ends
  double rate = 0.1;        ///< learning rate after the warm-up (scale_rate())
  std::int64_t warmup_epochs = 0;
  std::int64_t validate_every = 1;  ///< in epochs; the last epoch is always validated
  Decay decay;
  /// Further settings, by option name, that must not change when a training continues.
  std::map<std::string, std::string> same_settings{};
  /// File of the checkpoint; empty: none. It is written after every epoch, and after SIGTERM,
  /// before the signal ends the process.
  std::filesystem::path checkpoint;
  bool restart = false;  ///< continue from `checkpoint`
  /// Parameters of the case; the training is verified against them. Empty: it is not verified.
  Settings claims{};
  /// Judges every eighth step as a whole, by `claims`; nullptr: no step is judged so.
  StepOracle* step_oracle = nullptr;
  /// Called with a line about each epoch, on every rank.
  std::function<void(const std::string&)> progress{};
  /// Called on all ranks after each epoch and its validation, before the checkpoint is written.
  /// An exception, on all ranks, ends the training.
  std::function<void()> after_epoch{};
  /// Judges data, evaluation and state of the training; set on all ranks or on none. nullptr: only
  /// steps and operations are judged.
  TrainingOracle* oracle = nullptr;
};

struct EpochResult {
  std::int64_t epoch = 0;                ///< from 1
  double training_loss = 0;              ///< mean over its steps and all ranks, if has_steps()
  std::optional<Evaluation> evaluation;  ///< its validation, if it was validated
  /// Seconds since training began (also before a restart), including validation. A checked step
  /// counts as long as the other steps.
  double seconds = 0;
  double images_per_s = 0;  ///< of its steps, including the input
  /// False for a training that continues after its last step: it is only validated.
  bool has_steps() const { return images_per_s > 0; }
  /// Times when the epoch began, when its steps had ended, and when its validation had ended, in
  /// seconds since 1970. The system's clock is read once; times then follow a steady clock. Unlike
  /// `seconds`, they include everything.
  double started_unix_s = 0, trained_unix_s = 0, ended_unix_s = 0;
};

struct Convergence {
  std::vector<EpochResult> epochs;
  bool reached = false;  ///< the target
  std::int64_t steps = 0;
  double input_seconds = 0;       ///< time for which steps waited for their images
  double checkpoint_seconds = 0;  ///< of the last checkpoint
  std::int64_t checkpoint_bytes = 0;
  Verification
      verification;  ///< of a checked step in each epoch, and a checked batch in each validation
};

/// Thrown on all ranks if a training has diverged.
class Divergence : public CaseError {
 public:
  using CaseError::CaseError;
};

/// InputError if train() would refuse these settings: an epoch of fewer batches than a step
/// accumulates, a warm-up without a step after it, a schedule that ends above its rate.
void expect_trainable(const Batches& training, std::int64_t accumulate,
                      const ConvergenceSettings& settings);

/// Trains from initial parameters, or from the checkpoint, until a validation reaches the target or
/// all epochs are done. Collective. Throws Divergence if a loss is not finite, if gradients are not
/// finite and the loss scale cannot be the reason, or if the loss scale has skipped too many steps
/// in a row (LossScale::stuck). InputError as from TrainingCheckpoint: for a checkpoint that is
/// damaged or belongs to another training, or if a file would be lost.
Convergence train(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
                  Communicator& ranks, const ConvergenceSettings& settings);

}  // namespace assay
