#pragma once
// The loss scale that a training must have after each step.

#include <cstdint>
#include <string>

#include "models/network/loss_scale.hpp"

namespace assay {

/// Follows the rule of PyTorch's GradScaler as --loss-scale states it: a skipped step halves a
/// dynamic scale, and the stated number of consecutive finite steps doubles it, within 1 and 2^24.
/// With a lag, the scale that is halved is the one with which the applied gradients were made.
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
  double waiting_ = 0;    ///< scale of the gradients that wait for their update; 0: none wait
  bool unknown_ = false;  ///< gradients of a checkpoint wait; their scale is not known
  bool skipped_ = false;
};

/// Compares the loss scale after single steps with the rule; unobserved steps may lie between them.
/// With a lag the rule also needs the earlier steps, so nothing is compared.
class WatchedScale {
 public:
  /// `now`: the state after step number `step`. Returns the difference from the rule if the state
  /// after the previous step is known; else "".
  std::string see(const std::string& rule, std::int64_t step, const LossScaleState& now);
  void forget() { step_ = -1; }

 private:
  LossScaleState state_;
  std::int64_t step_ = -1;  ///< state_ is the state after this step
};

}  // namespace assay
