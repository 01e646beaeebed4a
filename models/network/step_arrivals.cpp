#include "models/network/step_arrivals.hpp"

#include "core/measure/clock_offset.hpp"

namespace assay {

void StepArrivals::begin() { begun_ = raw_seconds(); }

void StepArrivals::end(const Trainer& trainer, double input, double seconds) {
  const std::size_t first = arrivals_.size();
  arrivals_.insert(arrivals_.end(), trainer.arrivals().begin(), trainer.arrivals().end());
  if (first == arrivals_.size()) return;  // one rank
  Arrival& arrival = arrivals_[first];
  arrival.begun = begun_;
  arrival.input = input;
  arrival.run = seconds;
}

}  // namespace assay
