#pragma once
// Information that 16-bit training loses: gradients that became 0, gradients that overflowed, and
// weights that are too large for their updates (P. Micikevicius et al., Mixed Precision Training,
// ICLR 2018, sections 3.1 and 3.2).

#include <map>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Adds up the counts of several steps' updates (the tensor `counts` of
/// kernels/update/problem.hpp). They count the gradients summed over all ranks.
class Concerns {
 public:
  /// Call it after each step. Does nothing for a step without an update.
  void add(const Trainer& trainer);
  /// Gradient elements that are 0, and weights that their update did not change (both in percent of
  /// all; means over the steps that were not skipped); gradient elements that were not finite (mean
  /// over all steps); number of skipped steps; the loss scale. Nothing for networks without 16-bit
  /// tensors and without loss scale.
  std::map<std::string, Metric> metrics() const;

 private:
  bool narrow_ = false;
  double steps_ = 0, skipped_ = 0, zeros_ = 0, not_finite_ = 0, stale_ = 0, scale_ = 1;
};

}  // namespace assay
