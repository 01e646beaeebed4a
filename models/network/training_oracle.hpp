#pragma once
// Judges a training by what the parameters of its case say about data, state and evaluation.

#include <chrono>
#include <cstdint>
#include <string>

#include "core/measure/workload.hpp"
#include "models/network/claimed_rate.hpp"
#include "models/network/claimed_scale.hpp"
#include "models/network/epoch_ledger.hpp"
#include "models/network/evaluation_oracle.hpp"
#include "models/network/state_oracle.hpp"

namespace assay {

struct Convergence;  // convergence.hpp
struct EpochResult;

/// train() reports each event to it, equally on all ranks. It keeps the first fault, and also finds
/// missing events. Functions that read the device may only be called while time does not count.
class TrainingOracle {
 public:
  /// `network`: by its definition. `seed`: of the run, without its trial. `ranks` must outlive the
  /// oracle.
  TrainingOracle(const Settings& settings, const NetworkDefinition& network, std::uint64_t seed,
                 Communicator& ranks);

  const BatchOracle& data() const { return data_; }
  EvaluationOracle& evaluation() { return evaluation_; }

  /// Called before the first step of this run, after `epoch` complete epochs and `step` further
  /// steps. Collective.
  void begin(Trainer& trainer, std::int64_t epoch, std::int64_t step, bool restarted);
  /// Called before the first step of each epoch.
  void begin_epoch(std::int64_t epoch, std::int64_t step);
  /// Called before a step takes its first batch.
  void begin_step() { step_began_ = std::chrono::steady_clock::now(); }
  /// Called for each batch of a pass. Compares numbers of samples and a few pixels.
  void take(const Batch& batch);
  /// Called, in a checked step, after the trainer has loaded the same batch.
  void judge(const Batch& batch, Trainer& trainer);
  /// Called after a step with the learning rate `rate` and, on this rank, the loss `loss`.
  /// `checked`: its time does not count, so its numbers are read from the device. `slowed`: because
  /// of checks, not all of its time counts.
  void end_step(Trainer& trainer, double rate, double loss, bool checked, bool slowed);
  /// Steps between rehearse(true) and rehearse(false) will be repeated.
  void rehearse(bool begins) { rehearses_ = begins; }
  /// Called after the last step of an epoch, with its result so far. Collective.
  void end_epoch(Trainer& trainer, const EpochResult& trained);
  /// Called after the training. Checks that it has ended when it should.
  void end(const Convergence& convergence, bool restarted);
  /// Adds a fault that was found elsewhere.
  void note(const std::string& fault);

  /// The first fault so far, of this rank or of any.
  Verification verification() const;

 private:
  void judge_step(Trainer& trainer, double rate, double loss);
  void judge_numbers(const EpochResult& trained);
  void judge_times(const Convergence& convergence, bool restarted);

  const Settings settings_;
  const NetworkDefinition network_;
  const DataClaims claims_;
  Communicator& ranks_;
  BatchOracle data_;
  EvaluationOracle evaluation_;
  EpochLedger ledger_;
  const ClaimedRate rate_;
  ClaimedScale scale_;
  std::int64_t epoch_ = 0, step_ = 0;  ///< completed epochs, and steps of this epoch
  std::int64_t first_step_ = 0;        ///< this run's first one of the epoch
  double losses_ = 0;                  ///< sum over the steps of this epoch, on this rank
  /// Steps of this epoch whose time counts, and, by this object's own clock, the seconds of the
  /// steps without any checks.
  std::int64_t counted_ = 0;
  double seconds_ = 0;
  std::chrono::steady_clock::time_point step_began_;
  std::int64_t checked_ = 0;
  bool rehearses_ = false;
  std::string fault_;
};

}  // namespace assay
