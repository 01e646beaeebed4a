#pragma once
// When a rank comes to the collectives of its training steps (core/measure/blame.hpp).

#include <utility>
#include <vector>

#include "core/measure/arrival.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class StepArrivals {
 public:
  /// Before the first samples of a step are loaded, and after it.
  void begin();
  void begin_step() { before_.processor = process_seconds() - before_.processor; }
  /// After a step. `input`: for which it waited for its samples, `seconds`: of all of it.
  void end(const Trainer& trainer, double input, double seconds);
  std::vector<Arrival> take() { return std::exchange(arrivals_, {}); }

 private:
  Arrival before_;
  std::vector<Arrival> arrivals_;
};

}  // namespace assay
