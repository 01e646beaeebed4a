#pragma once
// Checks of samples by independent data: another clock, and the work that the runs themselves have
// counted. Internal to timing.cpp.

#include <map>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/sampler.hpp"
#include "core/measure/workload.hpp"

namespace assay {

/// The part of passed_s that a sample of claimed_s must account for, in seconds. A thread may be
/// interrupted after it has read one clock and before it reads the other: passed_s may be too long
/// by up to between_s (Sampler::between_s).
double compute_accountable_seconds(double claimed_s, double passed_s, double between_s);

class SampleCheck {
 public:
  /// All arguments must outlive the check. `amounts`: Problem::amounts() of the case.
  SampleCheck(Workload& workload, Sampler& sampler, Communicator& ranks,
              const std::map<std::string, double>& amounts);

  /// Call it before samples that follow each other: work that other runs have done does not count.
  /// Collective.
  void begin();
  /// Takes one sample by Sampler::once() and returns its seconds per run.
  double once(int batch);
  /// Judges the samples since begin(). Collective; throws on all ranks: WrongResult if a run has
  /// done other work than the case's amounts; CaseError if the times are not those of the clock.
  void end(int batch);
  /// CaseError on all ranks unless a row's `samples` are the values of the slowest rank that once()
  /// returned. Collective.
  void expect_samples(const std::vector<double>& samples) const;

 private:
  std::string why_not_time() const;
  std::string why_not_work(double runs);

  Workload& workload_;
  Sampler& sampler_;
  Communicator& ranks_;
  const std::map<std::string, double>& amounts_;
  long runs_before_ = 0;
  std::vector<double> all_;  ///< samples of this rank
  double reading_s_ = 0;     ///< cost of reading both clocks
  int in_group_ = 0;         ///< samples since begin()
  // Sums over all samples:
  int samples_ = 0, shorter_ = 0, longer_ = 0;
  double claimed_ = 0, passed_ = 0;  ///< seconds by the samples, and by the other clock
};

}  // namespace assay
