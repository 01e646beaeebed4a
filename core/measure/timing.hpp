#pragma once
// The timing loop: chunks of a fixed number of iterations. All samples are kept, and a stop rule is
// applied between chunks. docs/method.md describes it.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/machine/contention.hpp"
#include "core/measure/blame.hpp"
#include "core/measure/energy.hpp"
#include "core/measure/workload.hpp"

namespace assay {

struct TimingOptions {
  double max_time = 5;  ///< seconds of timed iterations, without the warm-up
  /// Stop when the width of the median's 95 % confidence interval is at most this part of it.
  double precision_target = 0.01;
  int min_samples = 10;
  int max_samples = 10000;
  double longest_clock_wait = 2;  ///< seconds of warm-up at most until a device's clock is steady
  double burn = 0;                ///< seconds of a burn-in behind the samples; 0: none
};

struct Timing {
  std::vector<double> samples;  ///< seconds per run, one value for each timed iteration (the mean
                                ///< of `batch` runs); with several ranks that of the slowest
  int batch = 1;  ///< runs between two marks: 1 unless a run is too short for the clock
  int warmup_runs = 0;
  double warmup_s = 0;
  std::string stopped_by;    ///< "precision" | "max_time" | "max_samples" | "slow: one iteration
                             ///< exceeds the budget"
  int slowest_rank = 0;      ///< the rank that was slowest in the most samples
  std::string slowest_host;  ///< its host
  std::vector<double> rank_medians;  ///< median seconds of each rank's own times; empty for 1 rank
  double skew_s = 0;                 ///< barrier_skew()
  /// Seconds between two marks without work between them, on the slowest rank. Every iteration of
  /// `batch` runs includes this overhead once.
  double timer_overhead_s = 0;
  /// The number of samples whose time may contain time of the submitting host, and the reason; ""
  /// if there are none.
  std::string host_included;
  bool held = false;  ///< all samples are the time of a device alone
  /// Result of the audits (Workload::begin_audit), and the number of audited runs. Timing ends at
  /// the first audit that fails. The times of audited runs are not samples.
  Verification audits;
  int audited_runs = 0;
  Energy energy;  ///< of the timed runs of all ranks
  /// row.device_state of the result's schema: the state of the device that was throttled most in
  /// the timed phase; null if devices report nothing.
  nlohmann::json device_state;
  std::optional<Blame> blame;  ///< of several ranks, if the workload knows collectives
  Contention contention;       ///< averages over the timed phase (between()), of the worst rank
};

/// Times a workload. Collective. Warms up until the times stop falling (at least one run, at most a
/// fifth of max_time) and the clocks of devices are steady, chooses the batch, then takes samples.
/// Each rank reads its own clock, and a sample is the time of the slowest rank. Rank 0 decides when
/// to stop. Throws if a rank fails (Sampler::settle), or if timed runs did not do the work of
/// audited ones (Audits::compare_with). WrongResult if the work that the timed runs have counted
/// (Workload::take_done) is not `amounts` in each run; CaseError if the samples contradict another
/// clock (SampleCheck).
Timing measure(Workload& workload, Communicator& ranks, const TimingOptions& options,
               const std::map<std::string, double>& amounts = {});

}  // namespace assay
