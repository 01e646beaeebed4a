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
  /// Joules per run by domain, the mean of the runs that were counted; of several hosts the sum of
  /// the domains of one name. Empty where it is not known.
  std::map<std::string, double> joules;
  std::string reason;  ///< why it is not known
};

/// Counts, on one rank, the energy of the intervals in which nothing but timed runs happens. Each
/// counter is read by the first rank that has it: ranks of a host share its packages. Internal to
/// timing.cpp.
class EnergyCount {
 public:
  /// All ranks call it. Finds out how often the counters are updated.
  EnergyCount(Workload& workload, Communicator& ranks);

  /// Whether a single interval of so many seconds is long enough to count.
  bool resolves(double seconds) const;
  /// Read the counters where an interval begins and ends: `runs` runs, which took `seconds`. Never
  /// within a timed region. An interval counts if it lasts at least 20 updates. Timed runs must
  /// fill 95 % of all that count.
  void begin() noexcept;
  void end(double runs, double seconds) noexcept;

  /// All ranks call it, once, after the last interval.
  Energy found();

 private:
  bool reads() const { return meter_ != nullptr && reason_.empty(); }
  /// Makes a failure of `step` the reason.
  template <class Step>
  void attempt(const Step& step) noexcept;
  std::string why_not() const;

  Communicator& ranks_;
  EnergyMeter* meter_ = nullptr;  ///< null where another rank reads it, or there is none
  double update_s_ = 0;
  std::string reason_;
  std::vector<double> before_, joules_;  ///< by domain: where the interval began; of all intervals
  std::chrono::steady_clock::time_point start_;
  double runs_ = 0, seconds_ = 0;  ///< of the runs in the intervals that count, and in them
  double passed_ = 0;              ///< how long these intervals were
};

}  // namespace assay
