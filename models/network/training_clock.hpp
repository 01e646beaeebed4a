#pragma once
// The time of a training, without checks and checkpoints.

#include <chrono>

#include "core/base/clock.hpp"

namespace assay {

class TrainingClock {
 public:
  void start() {
    start_ = std::chrono::steady_clock::now();
    start_unix_s_ =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  /// Seconds since start(), without the seconds that were left out.
  double counted_seconds() const { return seconds_since(start_) - left_out_; }
  /// Seconds since 1970. The system's clock is read once.
  double unix_s() const { return start_unix_s_ + seconds_since(start_); }
  void leave_out(double seconds) { left_out_ += seconds; }

 private:
  std::chrono::steady_clock::time_point start_;
  double start_unix_s_ = 0, left_out_ = 0;
};

/// Leaves out the time of its scope.
class ClockPause {
 public:
  explicit ClockPause(TrainingClock& clock) : clock_(clock), since_(clock.counted_seconds()) {}
  ~ClockPause() { clock_.leave_out(clock_.counted_seconds() - since_); }
  ClockPause(const ClockPause&) = delete;
  ClockPause& operator=(const ClockPause&) = delete;
  /// The counted time when the scope began.
  double since() const { return since_; }

 private:
  TrainingClock& clock_;
  double since_;
};

}  // namespace assay
