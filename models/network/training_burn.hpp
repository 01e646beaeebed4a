#pragma once
// The burn-in of a training step: repeats one step on one batch from one state.

#include "core/measure/burn.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// The outputs are all results of a step: weights, velocities, moving averages. Only for one rank.
class TrainingBurn final : public BurnTarget {
 public:
  /// The arguments must outlive it. `rate`: of all steps.
  TrainingBurn(Trainer& trainer, CheckedSteps& checks, double rate)
      : trainer_(trainer), checks_(checks), rate_(rate) {}
  std::vector<Data> burn_data() override { return {{"training step", false}}; }
  void load_data(std::size_t kind) override;
  void restore() override;
  void poison_outputs() override { trainer_.executor().poison(); }
  void run_once() override;
  std::uint64_t digest() override;
  std::vector<BurnOutput> outputs() override;
  Verification check_outputs() override;

 private:
  Trainer& trainer_;
  CheckedSteps& checks_;
  double rate_;
  Trainer::State begin_;
};

}  // namespace assay
