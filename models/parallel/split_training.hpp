#pragma once
// One rank's part of a training whose layers are divided among ranks.

#include <cstdint>
#include <vector>

#include "models/parallel/divided_update.hpp"
#include "models/parallel/micro_batches.hpp"
#include "models/parallel/parallel_way.hpp"
#include "models/parallel/replica_sums.hpp"
#include "models/parallel/split_graph.hpp"
#include "models/parallel/split_network.hpp"
#include "models/parallel/stage_values.hpp"

namespace assay {

/// The state before or after a step.
struct SplitState {
  StageState values;
  LossScaleState scale;
};

class SplitTraining {
 public:
  /// Both references must outlive this object. UnsupportedCase as from SplitNetwork. Collective.
  SplitTraining(const WayParts& parts, const Grid& grid);

  /// Begins with the weights and statistics of the undivided network.
  void begin();
  struct Step {
    std::int64_t epoch = 0, step = 0;
    double rate = 0;
    bool judged = false;  ///< store the checksums of its samples
  };
  /// The mean loss of this group's passes. `check`: of one of them, and of the update. Collective.
  double make(const Step& step, SplitCheck* check = nullptr);
  /// Adds the work of the last step, on the rank that did it. Layers that all ranks of a group
  /// compute count once. Collective.
  void count(double loss, StepTotals& steps);
  /// Earlier runs will not be counted.
  void forget_runs();

  SplitState state() const;
  void restore(const SplitState& state);
  /// The parameters, gradients and moments of this group in the order of the undivided network.
  /// Collective.
  StageState gather(const StageState& own) const;
  /// The samples of a pass of a step, as from MicroBatches::at(); passes are those of all groups.
  const Batch& batch(const Step& step, std::int64_t pass) {
    return batches_.at(step.epoch, step.step, pass);
  }
  std::string fault() const { return batches_.fault(); }
  static std::uint64_t checksum_samples(const Batch& batch);
  /// Checksums of the samples of each pass of this group in the last judged step.
  const std::vector<std::uint64_t>& sample_sums() const { return sample_sums_; }

  SplitNetwork& network() { return network_; }
  const SplitNetwork& network() const { return network_; }
  const ReplicaSums& replicas() const { return replicas_; }
  const std::vector<double>& running() const { return running_; }
  /// Gradients of this group, of the last step with a check.
  const std::vector<double>& own_gradients() const { return own_gradients_; }

 private:
  std::size_t size_of_element(ValueIndex value) const {
    return size_of(network_.graph().value(value).type);
  }

  const WayParts& parts_;
  const Grid& grid_;
  SplitNetwork network_;
  ReplicaSums replicas_;
  DividedUpdate update_;
  MicroBatches batches_;
  const std::int64_t passes_;
  std::vector<double> running_, own_gradients_;
  std::vector<std::uint64_t> sample_sums_;
  std::vector<std::int64_t> runs_;  ///< of each node, before the last step
};

}  // namespace assay
