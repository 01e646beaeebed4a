#pragma once
// The timing loop: Google Benchmark in chunks of a fixed number of iterations, all samples kept, a
// stop rule between chunks.

#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/machine/contention.hpp"
#include "core/measure/energy.hpp"
#include "core/measure/workload.hpp"

namespace assay {

struct TimingOptions {
  double max_time = 5;  ///< seconds of timed iterations, warm-up not counted
  double precision_target =
      0.01;  ///< stop when the 95 % interval of the median is narrower than this part of it
  int min_samples = 10;
  int max_samples = 10000;
};

struct Timing {
  std::vector<double> samples;  ///< seconds per run, one per timed iteration (the mean of `batch`
                                ///< runs where batch > 1)
  int batch = 1;  ///< runs between two marks: 1 unless one run is too short for the clock
  int warmup_runs = 0;
  double warmup_s = 0;
  std::string stopped_by;    ///< "precision" | "max_time" | "max_samples" | "slow: one iteration
                             ///< exceeds the budget"
  int slowest_rank = 0;      ///< rank that was slowest in the most samples
  std::string slowest_host;  ///< and its host
  std::vector<double> rank_medians;  ///< of each rank's own times; empty with one rank
  double skew_s = 0;  ///< by how much ranks leave a barrier, and so begin, apart (barrier_skew)
  double timer_overhead_s =
      0;  ///< what two marks with nothing between them measure, the slowest rank's:
          ///< that much of every sample of `batch` runs is the clock's own
  /// What came of the checks among the timed runs (Workload::begin_audit), and how many runs were
  /// checked. Where they did not pass, timing ended there. Their times are no samples.
  Verification audits;
  int audited_runs = 0;
  Energy energy;          ///< of the timed runs, of all ranks
  Contention contention;  ///< while it was timed, as averages (see between), the worst rank's
};

/// By how much the ranks leave a barrier, and so begin a sample, apart: the last one's time less
/// the first one's, the median of a few dozen barriers; 0 for one rank. Within a host by its common
/// clock; between hosts by clocks set from the shortest of some round trips, wrong by half of that
/// at most. All ranks call it.
double barrier_skew(Communicator& ranks);

/// Warms up until the pilot's times are steady (at most a fifth of max_time, at least one run),
/// chooses the batch, then samples. With several ranks a sample is the slowest rank's time and rank
/// 0 decides when to stop. Rank r's samples are its own clock; no clock is compared with another's.
Timing measure(Workload& workload, Communicator& ranks, const TimingOptions& options);

}  // namespace assay
