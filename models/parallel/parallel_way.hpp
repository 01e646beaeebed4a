#pragma once
// The part of a way of parallel training in its workload (parallel_workload.hpp), which has data,
// epochs, evaluation, quality and the row.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/batch_oracle.hpp"
#include "models/network/training_workload.hpp"

namespace assay {

/// The parameters of a case that has the same samples on one rank; a step of groups of ranks has
/// the passes of all groups.
Settings of_one_rank(Settings settings);

/// The batches of an epoch in one order, the same on all ranks.
class OrderedBatches {
 public:
  /// `source` of `sources`: data that stay in memory are another batch in each of them.
  OrderedBatches(const TrainingRun& run, Communicator& ranks, int source = 0, int sources = 1);
  /// Batches of an epoch.
  std::int64_t count() const { return batches_->steps(); }
  /// Batch `index` of an epoch. The next one in order costs nothing more; others are sought.
  /// Valid until the next call. Fails as take_next() does. An index of count() or more is of a
  /// later epoch. Each batch is compared with what the parameters of the case say.
  const Batch& at(std::int64_t epoch, std::int64_t index);
  /// The first fault of the batches of this rank; "" if there is none.
  const std::string& fault() const { return fault_; }

 private:
  void note(const std::string& fault);

  Communicator& ranks_;
  std::unique_ptr<Batches> batches_;
  std::optional<BatchOracle> oracle_;
  std::int64_t epoch_ = 0, next_ = 0;
  std::string fault_;
};

/// Steps [first, first + rates.size()) of an epoch. A step has replicas() x --accumulate batches;
/// step s has those from s * replicas() * accumulate on, in the order of OrderedBatches.
struct StepRange {
  std::int64_t epoch = 0, first = 0;
  std::vector<double> rates;  ///< of each step, equal on all ranks
  bool judged = false;        ///< prepare_judge() came before, and judge() follows
  std::int64_t count() const { return static_cast<std::int64_t>(rates.size()); }
};

/// std::logic_error if it is judged and not of one step, as ways that judge a step from its state
/// need it (steps_of_run()).
void expect_one_judged(const StepRange& steps);

/// The work of this rank, counted where it is done. Sums over the ranks are those of all steps.
struct StepTotals {
  double images = 0;  ///< on which all nodes, forward and backward, have run
  double flops = 0;   ///< of these nodes, and of updates
  double losses = 0;  ///< sum of the mean losses of batches
  double batches = 0;
};

/// The parts of a way. All outlive it.
struct WayParts {
  const TrainingRun& run;
  Plugins& plugins;
  Communicator& ranks;
  /// The undivided network, on every rank. It has the initial parameters, equal on all ranks, and
  /// its backends are chosen, equal on all ranks. A way may use its executor for its own passes.
  Trainer& whole;
};

class ParallelWay {
 public:
  virtual ~ParallelWay() = default;
  ParallelWay() = default;
  ParallelWay(const ParallelWay&) = delete;
  ParallelWay& operator=(const ParallelWay&) = delete;

  /// Begins a training: with the weights (and statistics) of the undivided network, equal on all
  /// ranks, and an optimizer without history. Collective.
  virtual void begin() = 0;
  /// Makes these steps. This is what is timed. Collective, begins and ends on all ranks together.
  virtual StepTotals make(const StepRange& steps) = 0;
  /// Keeps what judge() needs of the steps of the next make(), whose `judged` is true. Called
  /// before it, untimed. Collective.
  virtual void prepare_judge() = 0;
  /// Fills the memory of activations and gradients with NaN before an audited make().
  virtual void poison() = 0;
  /// Writes the weights and statistics of the training to the undivided network of all ranks,
  /// for the evaluation. Called after make(), untimed. Collective.
  virtual void gather() = 0;
  /// Judges the steps of the last make(), whose `judged` was true, by other code than made them.
  /// Adds to `found`: each rank what it has found. Collective.
  virtual void judge(Verification& verification) = 0;
  /// Further numbers of the row, of all calls of make(), equal on all ranks. Collective.
  virtual std::map<std::string, Metric> metrics() = 0;
  /// A text for the row's `reference`: what judge() compares.
  virtual std::string reference() const = 0;
  /// Text for the row's `implementation`: what carries gradients or activations.
  virtual std::string implementation() const = 0;
};

/// The ways, each in its own file. Unsupported if it does not fit. Collective.
Result<std::unique_ptr<ParallelWay>> make_servers_way(const WayParts& parts);
Result<std::unique_ptr<ParallelWay>> make_pipeline_way(const WayParts& parts);
Result<std::unique_ptr<ParallelWay>> make_split_way(const WayParts& parts);

}  // namespace assay
