#pragma once
// The energy of the timed runs of one case.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/machine/energy.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// The energy that the timed runs used.
struct Energy {
  /// Joules per run by domain ("package-0", see EnergyDomain): the mean over the runs of the
  /// intervals that count. Domains of several hosts with equal names are added. Empty if unknown.
  std::map<std::string, double> joules;
  std::string reason;  ///< why `joules` is empty
};

/// Measures, on one rank, the energy of the intervals that contain timed runs only. Ranks of a host
/// share its counters; the first rank of the host reads them. Internal to timing.cpp.
class EnergyCount {
 public:
  /// Collective. Measures how often the counters are updated.
  EnergyCount(Workload& workload, Communicator& ranks);

  /// True if an interval of this length is long enough to count: at least 20 updates of the
  /// counters, so that its energy is wrong by at most 5 %.
  bool resolves(double seconds) const;
  /// Seconds of an interval that would count, if none has counted yet; 0 if one has, or if this
  /// rank reads no counters.
  double missing_s() const;
  /// Call begin() before and end() after an interval, both outside timed regions. They read the
  /// counters. `runs`: runs in the interval, `seconds`: their total time. An interval that is too
  /// short (resolves()) does not count. The timed runs must fill 95 % of the intervals that count.
  void begin() noexcept;
  void end(double runs, double seconds) noexcept;

  /// The result. Collective; call it once, after the last interval.
  Energy compute();

 private:
  bool reads() const { return meter_ != nullptr && reason_.empty(); }
  /// Makes a failure of `step` the reason.
  template <class Step>
  void attempt(const Step& step) noexcept;
  std::string why_not() const;

  Communicator& ranks_;
  EnergyMeter* meter_ = nullptr;  ///< null if another rank reads it, or if there is none
  double update_s_ = 0;
  std::string reason_;
  std::vector<double> before_;  ///< readings when the interval began, by domain
  std::vector<double> joules_;  ///< of all intervals that count, by domain
  std::chrono::steady_clock::time_point start_;
  double runs_ = 0, seconds_ = 0;  ///< timed runs in the intervals that count, and their time
  double passed_ = 0;              ///< total length of these intervals, in seconds
};

}  // namespace assay
