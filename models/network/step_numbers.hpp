#pragma once
// What the steps of a training run were made of, for a row.

#include <map>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/concerns.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Adds up the phases of the timed steps of this rank.
class StepNumbers {
 public:
  /// `input_seconds`: that the step waited for its images.
  void add(const Trainer& trainer, double input_seconds);
  /// Mean seconds of each phase of a step, and what narrow numbers lost.
  std::map<std::string, Metric> metrics() const;

 private:
  StepSeconds sum_;
  Concerns concerns_;
  double input_ = 0, steps_ = 0;
};

/// Runs in which each operation is timed, of which the median counts.
inline constexpr int timed_runs = 5;

/// What is known of each node. `runs`: its seconds in each of a few runs of the network, in which a
/// node that is no update runs `passes` times. Of several ranks the slowest one's. Collective.
std::vector<LayerTime> layer_times(const Executor& executor,
                                   const std::vector<std::vector<double>>& runs, int passes,
                                   Communicator& ranks);

/// Seconds of all operations of a kind and direction in a run of the network ("conv_bwd_data_s"),
/// but those of the update, which is a phase of its own.
std::map<std::string, Metric> operation_metrics(const std::vector<LayerTime>& layers);

/// What a row says of a network's run: which backends compute how many of its operations, and
/// whether its arithmetic is emulated.
Executed executed_of(const Executor& executor, const TrainerSettings& settings);

}  // namespace assay
