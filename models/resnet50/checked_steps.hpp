#pragma once
// Steps of training that compare what they compute with oracles, and what makes a timed step again.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/trainer.hpp"

namespace assay {

class CheckedSteps {
 public:
  /// Nodes that a checked step compares with their oracles, beside the update.
  static constexpr std::size_t nodes = 6;

  /// Both must live as long. `rate`: of all these steps.
  CheckedSteps(Trainer& trainer, Communicator& ranks, double rate)
      : trainer_(trainer), ranks_(ranks), rate_(rate) {}

  /// A step from the state that the trainer has, with all memory of activations and gradients
  /// poisoned: random operations, the update and the sum of the gradients over the ranks against
  /// their oracles; loss and gradients must be finite. With a lag two steps, of which the second
  /// one learns what the first one has found. A step whose loss scale was too large, so that it was
  /// skipped, says nothing: it is made again with smaller ones. What was not computed is finite
  /// with none. `when` stands in the reason. Collective.
  Verification make(const std::string& when);
  /// Whether make() has made a step again.
  bool skipped() const { return skipped_; }

  /// With a lag, the step after a timed one, which learns what that has found: as a timed one, but
  /// for a comparison of the sum that it takes with what the ranks had. `load` loads the images of
  /// each pass. Collective.
  Verification learn(const std::function<void()>& load, const std::string& when);

  /// A batch of an audited step, in the order in which passes take them: the trainer has but the
  /// last one, and make() makes the same step again.
  void keep(std::span<const float> images, std::span<const std::int64_t> labels);
  void forget() { kept_.clear(); }

  /// Adds to `found` that the loss of the last step, or the gradients of the last update, are not
  /// finite. Collective.
  void judge_finite(const std::string& when, Verification& found);
  /// Of the last step, all ranks. Collective.
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
  std::vector<KeptBatch> kept_;
  bool skipped_ = false;
  std::uint64_t checks_ = 0;
};

}  // namespace assay
