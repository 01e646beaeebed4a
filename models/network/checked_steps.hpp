#pragma once
// Training steps whose operations are compared with oracles, and repetitions of timed steps with
// such checks.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/step_oracle.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// The checks of a step: `nodes` random nodes, the update, and the sum over the ranks.
StepCheck random_check(const Graph& graph, std::size_t nodes, std::uint64_t seed);

class CheckedSteps {
 public:
  /// Number of nodes that a checked step compares with their oracles, in addition to the update.
  static constexpr std::size_t nodes = 6;

  /// All arguments must outlive this object. `rate`: learning rate of all steps. `oracle`: judges
  /// each step of make() as a whole; nullptr: only its operations, sums and update are judged.
  CheckedSteps(Trainer& trainer, Communicator& ranks, double rate, StepOracle* oracle = nullptr)
      : trainer_(trainer), ranks_(ranks), rate_(rate), oracle_(oracle) {}

  /// The learning rate of the following steps.
  void set_rate(double rate) { rate_ = rate; }

  /// Poisons the memory of all activations and gradients, then makes one step from the trainer's
  /// present state. Compares random operations, the update and the sum of the gradients over the
  /// ranks with their oracles, and checks that loss and gradients are finite. With a lag it makes
  /// two steps; the second applies the gradients of the first. A step that is skipped because the
  /// loss scale is too large proves nothing, so it is repeated with smaller scales. This hides no
  /// poison: it is not finite with any scale. The reason of a failure contains `when`. `checked`:
  /// the number of operations, besides the update. Collective.
  Verification make(const std::string& when, std::size_t checked = nodes);
  /// True if make() has repeated a step.
  bool skipped() const { return skipped_; }

  /// With a lag: makes the step after a timed one, which applies the gradients of the timed step.
  /// It is a normal step that also compares the sum of the gradients with the ranks' own gradients.
  /// `load` loads the images of each pass. Collective.
  Verification learn(const std::function<void()>& load, const std::string& when);

  /// Stores a batch of an audited step, in the order of its passes, because the trainer holds only
  /// the last one. make() then repeats the step with these batches.
  void keep(std::span<const float> images, std::span<const std::int64_t> labels);
  void forget() { kept_.clear(); }

  /// Compares `timed`, the state after a timed step, with the trainer's state after the same step
  /// with checks (make()). `before`: the state before both, needed only with 16-bit operands: if
  /// equal steps differ (allow_spread()), further steps are made from it. The reason of a failure
  /// contains `step`. Collective.
  void compare(const Trainer::State& timed, const Trainer::State& before, const std::string& step,
               Verification& verification);
  /// The largest difference between equal steps that compare() has seen; 0 if all were within the
  /// tolerance of a single comparison.
  double spread() const { return spread_; }

  /// Adds a failure to `verification` if the loss of the last step or the gradients of the last
  /// update are not finite. Collective.
  void judge_finite(const std::string& when, Verification& verification);
  /// Mean loss of the last step over all ranks. Collective.
  double mean_loss();

 private:
  struct KeptBatch {
    std::vector<float> images;
    std::vector<std::int64_t> labels;
  };

  std::uint64_t next_seed();

  Trainer& trainer_;
  Communicator& ranks_;
  double rate_;
  StepOracle* oracle_;
  std::vector<KeptBatch> kept_;
  bool skipped_ = false;
  double spread_ = 0;
  std::uint64_t checks_ = 0;
};

}  // namespace assay
