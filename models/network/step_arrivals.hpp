#pragma once
// When a rank comes to the collectives of its training steps (core/measure/blame.hpp).

#include <utility>
#include <vector>

#include "core/measure/arrival.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class StepArrivals {
 public:
  /// Before a step and the load of its first samples.
  void begin();
  /// After it. `input`: for which it waited for its samples, `seconds`: of all of it.
  void end(const Trainer& trainer, double input, double seconds);
  std::vector<Arrival> take() { return std::exchange(arrivals_, {}); }

 private:
  double begun_ = 0;
  std::vector<Arrival> arrivals_;
};

}  // namespace assay
