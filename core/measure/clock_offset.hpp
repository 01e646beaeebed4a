#pragma once
// Differences of the clocks of ranks, with the largest error of each (F. Cristian, Probabilistic
// clock synchronization, Distributed Computing 3, 1989).

#include "core/api/communicator.hpp"

namespace assay {

/// Seconds of CLOCK_MONOTONIC_RAW, which no time service adjusts.
double raw_seconds();

/// The clock of this rank minus the clock of rank 0.
struct ClockOffset {
  double at = 0;      ///< by this rank's clock
  double offset = 0;  ///< seconds
  double error = 0;   ///< the true offset is at most this far away; infinite: a clock has jumped
};

/// An offset from messages to rank 0 and back.
class OffsetEstimate {
 public:
  /// A message that left at `ask_time` and was answered at `answered`, both by the clock of this
  /// rank; rank 0 read `theirs` between the two. So the offset is between ask_time - theirs and
  /// answered - theirs, however long each direction took.
  void add(double ask_time, double theirs, double answered);
  /// The middle of the range that all messages allow, at the time of the last one.
  ClockOffset middle() const;

 private:
  double low_ = 0, high_ = 0, at_ = 0;
  bool any_ = false;
};

/// Ranks with the same kernel and the same host name read one clock, with an error of 0. The first
/// one of each clock exchanges 20 messages with rank 0. Collective.
ClockOffset measure_clock_offset(Communicator& ranks);

/// A time of this rank by the clock of rank 0, interpolated between the offsets before and after
/// it.
double align(double time, const ClockOffset& before, const ClockOffset& after);
/// The largest error of align(): the errors of the offsets, and the whole change of the offset
/// between them. The same clock must have been the faster one all the time.
double alignment_error(const ClockOffset& before, const ClockOffset& after);

}  // namespace assay
