#pragma once
// One rank's stage of a pipeline: its passes of micro-batches, the messages to its neighbours, and
// the update of its parameters.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "datasets/images/input_pipeline.hpp"
#include "models/network/executor.hpp"
#include "models/network/trainer.hpp"
#include "models/parallel/divided_update.hpp"
#include "models/parallel/pipeline_schedule.hpp"
#include "models/parallel/replica_sums.hpp"
#include "models/parallel/stage_graph.hpp"

namespace assay {

/// Seconds of this stage in each step.
struct StageSeconds {
  std::vector<double> forward;   ///< of its forward passes, including the loading of samples
  std::vector<double> backward;  ///< of its backward passes, including the sums of gradients
  std::vector<double> passes;    ///< from the beginning to the end of the last pass of any stage
};

/// Each micro-batch in flight has a *slot*: its own memory for activations, statistics and the
/// values exchanged with the neighbours. Slots share parameters, gradients and the state of the
/// optimizer.
class PipelineStage {
 public:
  /// `settings`: of the whole network. `stage`: the stage of this rank; its group has one rank for
  /// each stage. `all`: the ranks of all groups. `messages`: connects the ranks of the group and
  /// carries activations; needs no tags. All arguments must outlive this object. Collective.
  static Result<std::unique_ptr<PipelineStage>> make(const Stage& stage,
                                                     const TrainerSettings& settings,
                                                     PipelineSchedule schedule, Plugins& plugins,
                                                     const Grid& grid, Communicator& all,
                                                     Communicator& messages);

  /// Initial parameters, statistics and loss scale, and an optimizer without history.
  void initialise();
  /// `load`: returns the samples of a micro-batch; called in order, if reads_samples(). Collective.
  using Load = std::function<const Batch&(std::int64_t pass)>;
  void step(double rate, const Load& load);
  bool reads_samples() const;

  /// Fills activations and gradients with NaN.
  void poison();
  /// The executor whose memory contains parameters, gradients and the state of the optimizer.
  Executor& executor() { return *slots_.front().executor; }
  /// Bytes of all memory.
  double bytes() const;
  std::int64_t slots() const { return static_cast<std::int64_t>(slots_.size()); }
  std::vector<double>& running_statistics() { return running_; }
  LossScaleState loss_scale() const { return update_.state(); }
  const ReplicaSums& replicas() const { return replicas_; }
  /// Mean loss of the last step, on the last stage; else 0.
  double loss() const { return losses_ / static_cast<double>(passes_); }
  /// Micro-batches of the last step on which all nodes of all stages have run.
  std::int64_t whole_passes() const { return whole_passes_; }
  /// FLOPs of the nodes of this stage that have run in the last step.
  double flops() const { return flops_; }
  const StageSeconds& seconds() const { return seconds_; }
  /// Measured seconds of a message to or from the previous stage. Collective.
  double message_seconds();

 private:
  struct Slot {
    std::unique_ptr<Executor> executor;
    Request input{}, output_gradient{}, output{}, input_gradient{};
  };

  PipelineStage(const Stage& stage, const TrainerSettings& settings, PipelineSchedule schedule,
                const Grid& grid, Communicator& all, Communicator& messages);
  Slot& find_slot(std::int64_t pass) {
    return slots_[static_cast<std::size_t>(pass) % slots_.size()];
  }
  Buffer buffer(const Slot& slot, ValueIndex value) const;
  Request send(const Slot& slot, ValueIndex value, int to, int tag);
  Request receive(const Slot& slot, ValueIndex value, int from, int tag);
  void expect(std::int64_t pass);
  void make_progress();
  void run(Slot& slot, Phase phase);
  void load(Slot& slot, const Batch& batch);
  void forward(std::int64_t pass, const Load& load);
  void backward(std::int64_t pass);
  void update(double rate);
  void count_runs();
  void put_number(Executor& executor, ValueIndex value, double number) const;

  const Stage& stage_;
  const TrainerSettings& settings_;
  Communicator &ranks_, &messages_;
  const std::int64_t passes_;
  const std::vector<PipelineTask> tasks_;
  std::vector<Slot> slots_;
  ReplicaSums replicas_;
  DividedUpdate update_;
  std::vector<double> running_;
  std::vector<std::int64_t> runs_;  ///< of each node, in all slots, before the last step
  double losses_ = 0, flops_ = 0;
  double forward_ = 0, backward_ = 0, all_ = 0;  ///< seconds of the last step
  std::int64_t whole_passes_ = 0;
  StageSeconds seconds_;
};

}  // namespace assay
