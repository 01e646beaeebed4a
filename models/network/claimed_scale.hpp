#pragma once
// The loss scale that a training must have after each step.

#include <cstdint>
#include <string>

#include "models/network/loss_scale.hpp"

namespace assay {

/// Follows the rule of PyTorch's GradScaler, as --loss-scale names it: a step that was skipped
/// halves a dynamic scale, and so many finite steps in a row double it, from 1 to 2^24. With a lag,
/// the halved scale is that with which the applied gradients were made.
class ClaimedScale {
 public:
  /// `text`: of --loss-scale.
  ClaimedScale(const std::string& text, bool lags);

  /// Begins with a state: of a new training, or of a checkpoint.
  std::string begin(const LossScaleState& state, bool restarted);
  /// The difference after a step; "" if there is none.
  std::string step(const LossScaleState& state);
  /// True if the last step was skipped.
  bool skipped() const { return skipped_; }

 private:
  bool moves_ = false, lags_ = false;
  double start_ = 1;
  std::int64_t growth_ = 2000;
  LossScaleState state_;
  double waiting_ = 0;    ///< the scale of the gradients that wait for their update; 0: none do
  bool unknown_ = false;  ///< those of a checkpoint wait, of which the scale is not known
  bool skipped_ = false;
};

/// Holds the loss scale of single steps, between which others may be made, against the rule. With a
/// lag the rule needs the steps before, so it says nothing.
class WatchedScale {
 public:
  /// `now`: the state after step number `step`. The difference from the rule if the state before
  /// the step is known, that is, after the step before it; else "".
  std::string see(const std::string& rule, std::int64_t step, const LossScaleState& now);
  void forget() { step_ = -1; }

 private:
  LossScaleState state_;
  std::int64_t step_ = -1;  ///< number of the step after which it was state_
};

}  // namespace assay
