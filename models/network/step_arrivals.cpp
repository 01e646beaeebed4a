#include "models/network/step_arrivals.hpp"

namespace assay {

void StepArrivals::add(const Trainer& trainer, double begun, double input, double seconds) {
  const std::size_t first = arrivals_.size();
  arrivals_.insert(arrivals_.end(), trainer.arrivals().begin(), trainer.arrivals().end());
  if (first == arrivals_.size()) return;  // one rank
  Arrival& arrival = arrivals_[first];
  arrival.begun = begun;
  arrival.input = input;
  arrival.run = seconds;
}

}  // namespace assay
