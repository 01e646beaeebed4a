#pragma once
// The numbers of a training for a row: parts of its steps, their times, and its epochs.

#include <map>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/concerns.hpp"
#include "models/network/convergence.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Adds up the times of the phases of timed steps, on this rank.
class StepNumbers {
 public:
  /// Adds the last step. `input_seconds`: the wait for its images. `seconds`: the whole step, by
  /// the caller's clock. `with_gaps`: a device has timed the phases, and waits for the host between
  /// steps; `seconds` includes these waits.
  void add(const Trainer& trainer, double input_seconds, double seconds, bool with_gaps);
  /// Why the phases do not add up to the steps; "" if they do.
  std::string why_not_whole() const;
  /// Why `claim` cannot be the mean rate of these steps of `images` images each (the claimed rate
  /// is the slowest rank's, so it is at most this rank's), or else why_not_whole(). "": it can be.
  std::string why_not_rate(double claim, double images) const;
  /// Median seconds of each phase of a step (the row's time is also a median), and
  /// Concerns::metrics().
  std::map<std::string, Metric> metrics() const;

 private:
  double compute_median(double StepSeconds::*phase) const;

  StepSeconds sum_;
  std::vector<StepSeconds> steps_seconds_;
  Concerns concerns_;
  double input_ = 0, steps_ = 0;
  double seconds_ = 0;  ///< of all steps
  double phases_ = 0;   ///< of all phases of the steps, added step by step
  std::int64_t control_messages_ = 0;
  double differing_ = 0;  ///< steps whose phases do not add up to the step
};

/// Number of runs in which each operation is timed; the median counts.
inline constexpr int timed_runs = 5;

/// The time of each node of a network: the median of `runs`, of the slowest rank. `runs`: for each
/// run the seconds of every node. `passes`: how often one run runs a node (nodes of the update run
/// once). Collective.
std::vector<LayerTime> list_layer_times(const Executor& executor,
                                        const std::vector<std::vector<double>>& runs, int passes,
                                        Communicator& ranks);

/// Total seconds of the operations of each kind and direction in a run of the network
/// ("conv_bwd_data_s"), without those of the update.
std::map<std::string, Metric> operation_metrics(const std::vector<LayerTime>& layers);

/// "metrics" of a row of a training with epochs: the score that it reached, and how fast.
std::map<std::string, Metric> convergence_metrics(const Convergence& convergence);

/// "epochs" of a row.
std::vector<Epoch> epoch_numbers(const Convergence& convergence);

/// "executed" of a row: number of operations that each backend computes, and whether arithmetic is
/// emulated.
Execution make_executed(const Executor& executor, const TrainerSettings& settings);

}  // namespace assay
