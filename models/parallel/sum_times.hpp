#pragma once
// Seconds of the sums of steps over the ranks that divide layers, measured and predicted.

#include <map>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "models/parallel/split_network.hpp"

namespace assay {

/// In a sum, all ranks wait for the last one. So a prediction needs the time that each rank
/// computes before each sum. These times are measured in every second step, and the prediction is
/// compared with the sums of the other steps. It assumes that each sum begins when the last rank
/// arrives, and takes the time on each rank that it takes there without waiting.
class SumTimes {
 public:
  /// Forgets all steps. Untimed.
  void clear();
  void add(const SplitSeconds& of_step);
  /// The metrics of the rank whose sums take longest; none after fewer than two steps. `alone_s`:
  /// this rank's measured seconds of the sums of some passes, one pass after the other, without
  /// waiting for other ranks. `group`: the ranks that divide layers; `all`: the ranks of all
  /// groups. Collective; the result is equal on all ranks.
  std::map<std::string, Metric> metrics(const std::vector<double>& alone_s, Communicator& group,
                                        Communicator& all) const;

 private:
  /// Seconds of the sums of this rank, by step.
  struct Prediction {
    std::vector<double> alone, with_waits;
  };
  Prediction predict(const std::vector<double>& alone_s, Communicator& group) const;

  std::vector<double> sums_;    ///< of each compared step
  std::vector<double> before_;  ///< before each sum of the other steps, step by step
  std::size_t steps_ = 0, sums_of_step_ = 0;
};

}  // namespace assay
