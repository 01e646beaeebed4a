#pragma once
// When a rank comes to the collectives of its training steps (core/measure/blame.hpp).

#include <utility>
#include <vector>

#include "core/measure/arrival.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class StepArrivals {
 public:
  /// Adds those of the last step, which began with the load of its first samples, at `begun` by
  /// raw_seconds(). `input`: for which it waited for its samples, `seconds`: of all of it.
  void add(const Trainer& trainer, double begun, double input, double seconds);
  std::vector<Arrival> take() { return std::exchange(arrivals_, {}); }

 private:
  std::vector<Arrival> arrivals_;
};

}  // namespace assay
