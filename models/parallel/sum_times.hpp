#pragma once
// Seconds of the sums of steps over the ranks that divide layers, measured and predicted.

#include <map>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/workload.hpp"
#include "models/parallel/split_network.hpp"

namespace assay {

/// A rank waits in a sum for the one that comes last. So a prediction needs what each rank computes
/// before each sum. Times are measured in every second step; the sums of the other steps are
/// compared with it. Each sum begins on all ranks when the last one comes, and ends on each after
/// what it takes there alone.
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
  std::vector<double> before_;  ///< of each sum of the other steps, one step after the other
  std::size_t steps_ = 0, sums_of_step_ = 0;
};

}  // namespace assay
