#pragma once
// The update of parameters that are divided among ranks. Each update sees only its own gradients,
// so the ranks agree on whether all gradients are finite, and on the loss scale.

#include <cstdint>
#include <functional>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"
#include "models/network/loss_scale.hpp"

namespace assay {

class DividedUpdate {
 public:
  /// `ranks` must outlive it.
  DividedUpdate(const LossScaleSettings& settings, Communicator& ranks)
      : settings_(settings), ranks_(ranks), scale_(settings) {}

  /// Called before the first step.
  void begin(Executor& executor);
  void restore(const LossScaleState& state, Executor& executor);
  /// Updates with gradients that are the sum of `passes` passes, and with the learning rate `rate`.
  /// `run`: runs the nodes of the update. All ranks skip the update if the gradients of one rank
  /// are not finite. WrongResult if training diverges. Collective.
  void run(Executor& executor, double rate, std::int64_t passes, const std::function<void()>& run);
  /// Number of earlier steps, including skipped ones.
  std::int64_t steps() const { return scale_.steps(); }
  LossScaleState state() const { return scale_.state(); }

 private:
  bool agree(bool finite);

  LossScaleSettings settings_;
  Communicator& ranks_;
  LossScale scale_;
};

}  // namespace assay
