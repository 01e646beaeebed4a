#pragma once
// Times at which a rank arrives at the collectives of its training steps (core/measure/blame.hpp).

#include <utility>
#include <vector>

#include "core/measure/arrival.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class StepArrivals {
 public:
  /// Adds the arrivals of the last step. `begun`: raw_seconds() when it began to load its first
  /// samples. `input`: seconds for which it waited for samples. `seconds`: of the whole step.
  void add(const Trainer& trainer, double begun, double input, double seconds);
  std::vector<Arrival> take() { return std::exchange(arrivals_, {}); }

 private:
  std::vector<Arrival> arrivals_;
};

}  // namespace assay
