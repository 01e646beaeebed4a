#pragma once
// What narrow numbers lose in training: gradients that became 0, gradients that overflowed, and
// weights that are too large for their updates (P. Micikevicius et al., Mixed Precision Training,
// ICLR 2018, sections 3.1 and 3.2).

#include <map>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Adds up the counts of steps' updates, of all ranks' gradients together.
class Concerns {
 public:
  /// After a step; one without an update has none.
  void add(const Trainer& trainer);
  /// Elements of the gradient that are 0 and weights that their update did not change (percent of
  /// all, means of the steps that were not skipped), elements that were not finite (mean of all
  /// steps), steps that were skipped, and the loss scale. Nothing for networks without 16-bit
  /// tensors whose loss is not scaled.
  std::map<std::string, Metric> metrics() const;

 private:
  bool narrow_ = false;
  double steps_ = 0, skipped_ = 0, zeros_ = 0, not_finite_ = 0, stale_ = 0, scale_ = 1;
};

}  // namespace assay
