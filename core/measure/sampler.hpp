#pragma once
// One timed iteration, on all ranks, such that a failure on any of them ends the loop of all.
// Internal to timing.cpp.

#include <chrono>
#include <exception>
#include <optional>

#include "core/api/communicator.hpp"
#include "core/measure/energy.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Times single iterations on this rank's own clock. After a failure anywhere every further
/// iteration is a no-op: Google Benchmark aborts the process when its loop is left early, and the
/// other ranks would wait for ever in their next collective call. (A rank that fails inside a
/// collective leaves the others in it: that is the watchdog's case.)
class Sampler {
 public:
  Sampler(Workload& workload, Communicator& ranks)
      : workload_(workload), ranks_(ranks), stream_(workload.stream()) {}
  void set_batch(int batch) { batch_ = batch; }
  /// Counts the energy of each of the following iterations by itself, between its untimed part and
  /// the next one's; nullptr: no more.
  void count_energy(EnergyCount* energy) { energy_ = energy; }
  /// From here on samples are taken until this moment; on any rank's clock.
  void set_deadline(std::chrono::steady_clock::time_point deadline) {
    deadline_ = deadline;
    over_ = false;
  }
  /// The deadline has passed: once() has taken no sample.
  bool over() const { return over_; }

  /// Seconds per run of one iteration on this rank; 0 after a failure. With several ranks all begin
  /// together.
  double once() noexcept;
  /// One run outside the samples, which no deadline stops: its seconds.
  double extra_run() noexcept;
  /// One run that is checked (Workload::begin_audit): its seconds, and in `found` what came of it.
  /// The time that the check takes moves the deadline. 0 after a failure.
  double audit(Audit kind, Verification& found) noexcept;
  /// Seconds between two marks with nothing between them, the median of a few dozen pairs; 0 after
  /// a failure.
  double clock() noexcept;
  /// Called by all ranks after the same number of iterations: throws on every rank if any has
  /// failed, the rank's own exception where it failed and CaseError naming that rank elsewhere.
  void settle();

 private:
  /// Whether no rank has failed; where `late` on any rank, over() from now on.
  bool others_agree(bool late) noexcept;

  Workload& workload_;
  Communicator& ranks_;
  Stream& stream_;
  int batch_ = 1;
  EnergyCount* energy_ = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::exception_ptr failure_;
  bool over_ = false;
  bool stopped_ = false;  ///< all ranks know that one has failed
  bool lost_ = false;     ///< the communicator itself has failed: no further call to it
};

}  // namespace assay
