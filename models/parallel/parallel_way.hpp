#pragma once
// The interface between a way of parallel training and its workload (parallel_workload.hpp). The
// workload provides data, epochs, evaluation, quality and the row.

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

/// The parameters of a case with the same samples on one rank: its step has the passes of all
/// groups of ranks.
Settings of_one_rank(Settings settings);

/// The batches of an epoch, in an order that is the same on all ranks.
class OrderedBatches {
 public:
  /// `source` of `sources`: each source has a different batch, if data stay in memory.
  OrderedBatches(const TrainingRun& run, Communicator& ranks, int source = 0, int sources = 1);
  /// Batches of an epoch.
  std::int64_t count() const { return batches_->steps(); }
  /// Batch `index` of an epoch. Reading in order costs nothing extra; other batches must be sought.
  /// Valid until the next call. Fails as take_next() does. An index from count() on belongs to a
  /// later epoch. Each batch is compared with the parameters of the case.
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
  bool judged = false;        ///< prepare_judge() was called, and judge() follows
  std::int64_t count() const { return static_cast<std::int64_t>(rates.size()); }
};

/// std::logic_error if `steps` is judged and is not a single step. For ways that judge a step from
/// its state (steps_of_run()).
void expect_one_judged(const StepRange& steps);

/// The work of this rank, counted where it is done. The sums over the ranks are the work of all
/// steps.
struct StepTotals {
  double images = 0;  ///< images for which all nodes, forward and backward, ran
  double flops = 0;   ///< of these nodes, and of updates
  double losses = 0;  ///< sum of the mean losses of batches
  double batches = 0;
};

/// The parts of a way. All outlive it.
struct WayParts {
  const TrainingRun& run;
  Plugins& plugins;
  Communicator& ranks;
  /// The undivided network, on every rank, with initial parameters and chosen backends; both are
  /// equal on all ranks. A way may use its executor for its own passes.
  Trainer& whole;
};

class ParallelWay {
 public:
  virtual ~ParallelWay() = default;
  ParallelWay() = default;
  ParallelWay(const ParallelWay&) = delete;
  ParallelWay& operator=(const ParallelWay&) = delete;

  /// Begins a training with the weights (and statistics) of the undivided network, which are equal
  /// on all ranks, and with an optimizer without history. Collective.
  virtual void begin() = 0;
  /// Makes these steps; only this call is timed. Collective; begins and ends on all ranks together.
  virtual StepTotals make(const StepRange& steps) = 0;
  /// Called, untimed, before a make() whose `judged` is true: stores the data that judge() needs.
  /// Collective.
  virtual void prepare_judge() = 0;
  /// Fills the memory of activations and gradients with NaN before an audited make().
  virtual void poison() = 0;
  /// Writes the weights and statistics of the training to the undivided network of all ranks,
  /// for the evaluation. Called after make(), untimed. Collective.
  virtual void gather() = 0;
  /// Judges the steps of the last make(), whose `judged` was true, with code other than that which
  /// made them. Each rank adds its findings to `verification`. Collective.
  virtual void judge(Verification& verification) = 0;
  /// Further numbers for the row, over all calls of make(), equal on all ranks. Collective.
  virtual std::map<std::string, Metric> metrics() = 0;
  /// A text for the row's `reference`: what judge() compares.
  virtual std::string reference() const = 0;
  /// Text for the row's `implementation`: what carries gradients or activations.
  virtual std::string implementation() const = 0;
};

/// The ways, each in its own file. Unsupported if the way does not fit the case. Collective.
Result<std::unique_ptr<ParallelWay>> make_servers_way(const WayParts& parts);
Result<std::unique_ptr<ParallelWay>> make_pipeline_way(const WayParts& parts);
Result<std::unique_ptr<ParallelWay>> make_split_way(const WayParts& parts);

}  // namespace assay
