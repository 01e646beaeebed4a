#pragma once
// Judges a whole training step: from the gradients that its nodes computed, it derives the weights
// that the update must leave, according to the parameters of the case. It shares no formula and no
// setting with the trainer, the graph or the operations of the update.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/measure/case.hpp"
#include "core/measure/workload.hpp"
#include "models/network/claimed_losses.hpp"
#include "models/network/claimed_update.hpp"
#include "models/network/definition.hpp"
#include "models/network/mask_oracle.hpp"
#include "models/network/trainer.hpp"

namespace assay {

/// Each step of a case, as its parameters describe it.
struct StepClaims {
  /// Reads the claims from the texts of the case, as the documentation explains them, and from the
  /// definition of the network's input.
  explicit StepClaims(const Settings& settings, const DefinedInput& network = {});

  ClaimedUpdate update;
  double weight_decay = 0;
  std::int64_t batch = 1;              ///< images of one rank in a pass
  std::int64_t passes = 1, ranks = 1;  ///< the gradients of all are averaged
  bool lags = false;                   ///< a step applies the gradients of the previous step
  /// Bits of the significand of sent gradients; 0: sent in their own type.
  int wire_bits = 0;
  double smoothing = 0;
  Labels labels = Labels::per_sample;
  std::vector<double> class_factors;  ///< in the loss, of labels of pixels
  std::string loss_scale;             ///< as --loss-scale
  double rate = 0;                    ///< of steps without a schedule
};

/// Observes the nodes of one step at a time (Executor::observe), at up to 64 elements of each
/// parameter.
///
/// Compares with fp64, on every rank: the velocities and weights after the update (computed from
/// those before it and from the mean of the recorded gradients of all ranks and passes), 16-bit
/// copies of the weights, the moving averages of the statistics, and the losses (computed from the
/// logits). Also counts the passes in which each gradient was computed, compares the weights of the
/// ranks bit by bit, and finds masks of dropout that repeat: wrong counters of passes, and equal
/// keys of layers and ranks.
class StepOracle final : public NodeObserver {
 public:
  /// All arguments must outlive the oracle. `ranks` connects the ranks; another communicator may
  /// sum their gradients.
  StepOracle(const StepClaims& claims, const Executor& executor, Communicator& ranks);

  /// Sets the learning rate that the following steps must have; initially that of steps without a
  /// schedule.
  void expect_rate(double rate) { rate_ = rate; }
  /// Call it before a step. `seed` selects elements, equal on all ranks.
  void begin(const Trainer& trainer, std::uint64_t seed);
  void before(std::size_t node) override;
  void after(std::size_t node) override;
  /// Judges the step of the same trainer. Collective.
  void end(const Trainer& trainer, Verification& verification);
  /// Forgets gradients that wait for the next step; needed if the trainer's state was exchanged.
  void forget() { waiting_ = {}; }

 private:
  /// The observed elements of a parameter, as indices in Graph::weights.
  struct ObservedParameter {
    std::vector<std::int64_t> at;
    std::size_t first = 0;  ///< index of the first one in the arrays below
    bool decays = false;
  };
  /// A normalization, as its node shows it.
  struct Normalization {
    std::string layer;
    std::int64_t channels = 0, mean = 0, variance = 0;
    double per_channel = 0;  ///< numbers in each mean and variance
  };
  /// Sums of recorded gradients and of their magnitudes, by element.
  struct Sums {
    std::vector<double> values, magnitudes;
    std::vector<std::int64_t> passes;  ///< by parameter
    double loss_scale = 0;
  };

  void select(std::uint64_t seed);
  void read(ValueIndex value, const ObservedParameter& parameter, std::span<double> to) const;
  std::vector<double> read(ValueIndex value) const;
  std::vector<double> read(ValueIndex value, const Parameter& all_of) const;
  double number(ValueIndex value) const;
  std::vector<ClaimedTensor> tensors() const;
  double mean_factor(const Sums& sums) const;
  std::int64_t update_number() const { return scale_before_.steps - scale_before_.skipped + 1; }
  void average_statistics();
  void judge_passes(const Sums& sums);
  void judge_update(const Sums& sums);
  void judge_skipped();
  void judge_copies();
  void judge_statistics(const std::vector<double>& running);
  ClaimedLoss compute_claimed_loss(std::span<const double> logits, std::span<const double> labels,
                                   double u) const;
  void judge_losses();
  void judge_ranks();
  void judge_told(const Trainer& trainer);
  void add(const std::string& fault);

  const StepClaims claims_;
  double rate_;
  const Executor& executor_;
  Communicator& ranks_;
  std::map<ValueIndex, std::size_t> parameter_of_;  ///< by the value of its gradient
  std::vector<Normalization> normalizations_;
  std::size_t loss_ = 0, update_ = 0;  ///< nodes
  MaskOracle masks_;

  std::vector<ObservedParameter> observed_;
  std::size_t elements_ = 0;
  std::vector<double> expected_running_;
  LossScaleState scale_before_;
  Sums now_, waiting_;
  std::vector<double> weights_before_, velocity_before_, weights_, velocity_, second_before_,
      second_;  ///< moments
  std::vector<ClaimedTensor> tensors_;
  double not_finite_ = 0;
  bool all_finite_ = false;  ///< all gradients, although the update counted some that are not
  double losses_ = 0;        ///< sum over the passes of their mean losses
  int updates_ = 0;
  std::string fault_;
};

/// While it exists, `oracle` observes the trainer's step; nullptr: no oracle does.
class ObservedStep {
 public:
  ObservedStep(StepOracle* oracle, Trainer& trainer, std::uint64_t seed) : trainer_(trainer) {
    if (oracle == nullptr) return;
    oracle->begin(trainer, seed);
    trainer_.executor().observe(oracle);
  }
  ~ObservedStep() { trainer_.executor().observe(nullptr); }
  ObservedStep(const ObservedStep&) = delete;
  ObservedStep& operator=(const ObservedStep&) = delete;

 private:
  Trainer& trainer_;
};

}  // namespace assay
