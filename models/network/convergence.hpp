#pragma once
// Training to a stated accuracy.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "models/network/batches.hpp"
#include "models/network/evaluator.hpp"
#include "models/network/schedule.hpp"
#include "models/network/trainer.hpp"

namespace assay {

struct ConvergenceSettings {
  std::int64_t epochs = 0;  ///< at most
  double target = 1;        ///< accuracy of validation at which training ends
  double rate = 0.1;        ///< after the warm-up, scaled already
  std::int64_t warmup_epochs = 0;
  std::int64_t validate_every = 1;  ///< epochs; the last one is always followed by a validation
  Decay decay;
  /// Written after every epoch, and when SIGTERM asks the process to end, which then ends by it;
  /// empty: none.
  std::filesystem::path checkpoint;
  bool restart = false;  ///< begins with `checkpoint`
  /// Is told of every epoch, on every rank.
  std::function<void(const std::string&)> progress{};
};

struct EpochResult {
  std::int64_t epoch = 0;                ///< from 1
  double training_loss = 0;              ///< mean of its steps, all ranks
  std::optional<Evaluation> evaluation;  ///< after it; the last epoch has one
  /// Since the start of training (before a restart, too), validation included; a checked step
  /// counts as long as the others.
  double seconds = 0;
  double images_per_s = 0;  ///< of its steps, the input included
  /// When it began, when its steps were done, and its validation: seconds since 1970, of a clock
  /// that is read once and then runs steadily. They leave nothing out.
  double started_unix_s = 0, trained_unix_s = 0, ended_unix_s = 0;
};

struct Convergence {
  std::vector<EpochResult> epochs;
  bool reached = false;
  std::int64_t steps = 0;
  double input_seconds = 0;       ///< that steps waited for their images
  double checkpoint_seconds = 0;  ///< of the last checkpoint
  std::int64_t checkpoint_bytes = 0;
  Verification found;  ///< of one checked step in each epoch, and of the first validation
};

/// A training that learns nothing any more; on all ranks.
class Diverged : public CaseError {
 public:
  using CaseError::CaseError;
};

/// Trains from initial parameters, or from the checkpoint, until an epoch's validation reaches the
/// target or all epochs were made. Collective. Diverged where a loss, or gradients without a loss
/// scale, are not finite, or a loss scale has skipped so many steps in a row that none will count.
/// InputError for a checkpoint of another network, or a damaged one.
Convergence train(Trainer& trainer, Evaluator& evaluator, Batches& training, Batches& validation,
                  Communicator& ranks, const ConvergenceSettings& settings);

/// A checked step: some random nodes, the update and the sum over the ranks.
StepCheck random_check(const Graph& graph, std::size_t nodes, std::uint64_t seed);

}  // namespace assay
