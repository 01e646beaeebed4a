#pragma once
// Times single iterations on all ranks, so that a failure of one rank ends the loop of all ranks.
// Internal to timing.cpp.

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/api/communicator.hpp"
#include "core/measure/clock_offset.hpp"
#include "core/measure/energy.hpp"
#include "core/measure/hold.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// Times iterations on this rank's own clock. After a failure on any rank, every further iteration
/// does nothing until settle(): a rank that left the loop at once would leave the other ranks
/// waiting forever in their next collective call. (A rank that fails inside a collective leaves the
/// other ranks waiting in it; `assay run` ends such a job when its time is over.)
class Sampler {
 public:
  Sampler(Workload& workload, Communicator& ranks);
  /// Number of runs in one iteration of once().
  void set_batch(int batch) { batch_ = batch; }
  /// Measures the energy of each following iteration separately, without the untimed parts before
  /// and after it. nullptr: stops doing so.
  void count_energy(EnergyCount* energy) { energy_ = energy; }
  /// True if the device is held back while the runs of an iteration are submitted, if it can be. It
  /// then idles between iterations.
  void hold(bool held) { wanted_ = held; }
  bool holds() const { return apart_ && wanted_ && !in_vain_; }
  /// A function called in each iteration, untimed, between the barrier and the first mark; may be
  /// empty.
  void set_prelude(std::function<void()> prelude) { prelude_ = std::move(prelude); }
  /// once() takes no samples after this time, by the clock of the rank that reaches it first.
  /// Without a deadline it always does.
  void set_deadline(std::optional<std::chrono::steady_clock::time_point> deadline) {
    deadline_ = deadline;
    over_ = false;
  }
  /// True if the deadline has passed; once() then takes no samples.
  bool over() const { return over_; }

  /// Times one iteration. Returns its seconds per run on this rank, or 0 after a failure or the
  /// deadline. Collective: the ranks begin together, after a barrier.
  double once() noexcept;
  /// Why the time of the last once() may contain time of the submitting host; "" if it is only the
  /// device's, or if the device is the host.
  const std::string& host_included() const { return early_.why(); }
  /// True if the stream's clock is the host's, so that a sample is as long as it took.
  bool host() const { return host_; }
  /// Seconds by raw_seconds() that passed around the two marks of the last once().
  double passed_s() const { return passed_s_; }
  /// Seconds by the stream's clock that surround both readings of raw_seconds(), without the
  /// sample: an interruption there adds at most these to passed_s(). 0 unless host().
  double between_s() const { return between_s_; }
  /// Number of runs that were made since the beginning.
  long runs() const { return runs_; }
  /// Times one run that is not a sample, also after the deadline. Returns its seconds. Collective.
  double extra_run() noexcept;
  /// Makes one audited run (Workload::begin_audit) and stores its check in `verification`. Returns
  /// its seconds, or 0 after a failure. The deadline is postponed by the time of the audit.
  /// Collective.
  double audit(Audit kind, Verification& verification) noexcept;
  /// Seconds between two marks without work between them: the median of 31 pairs; 0 after a
  /// failure.
  double clock() noexcept;
  /// Throws on every rank if any rank has failed: on that rank its own exception, on the others a
  /// CaseError that names it. Collective; all ranks call it after the same number of iterations.
  void settle();

 private:
  /// True if no rank has failed. If `late` is true on any rank, over() is true from then on; if
  /// held devices have begun early on any, and runs cannot be recorded there, holds() is false.
  bool others_agree(bool late) noexcept;
  /// Waits in a barrier, then begins to count energy.
  void begin_together();

  Workload& workload_;
  Communicator& ranks_;
  Stream& stream_;
  const bool host_;
  const bool apart_;      ///< the device can be held
  bool wanted_ = true;    ///< hold()
  bool in_vain_ = false;  ///< held devices began early repeatedly, also with a recording
  bool records_ = true;   ///< recording a run was not tried yet
  EarlyBegins early_;
  std::function<void()> prelude_;
  int batch_ = 1;
  long runs_ = 0;
  double passed_s_ = 0, between_s_ = 0;
  EnergyCount* energy_ = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::exception_ptr failure_;
  bool over_ = false;
  bool stopped_ = false;  ///< a rank has failed, and all ranks know it
  bool lost_ = false;     ///< the communicator has failed and is not called any more
};

}  // namespace assay
