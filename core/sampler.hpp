#pragma once
// One timed iteration, on all ranks, such that a failure on any of them ends the loop of all.
// Internal to timing.cpp.

#include <exception>

#include "core/communicator.hpp"
#include "core/workload.hpp"

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

  /// Seconds per run of one iteration on this rank; 0 after a failure. With several ranks all begin
  /// together.
  double once() noexcept;
  /// Seconds between two marks with nothing between them, the median of a few dozen pairs; 0 after
  /// a failure.
  double clock() noexcept;
  /// Called by all ranks after the same number of iterations: throws on every rank if any has
  /// failed, the rank's own exception where it failed and CaseError naming that rank elsewhere.
  void settle();

 private:
  bool others_agree() noexcept;

  Workload& workload_;
  Communicator& ranks_;
  Stream& stream_;
  int batch_ = 1;
  std::exception_ptr failure_;
  bool stopped_ = false;  ///< all ranks know that one has failed
  bool lost_ = false;     ///< the communicator itself has failed: no further call to it
};

}  // namespace assay
