#pragma once
// A residual network that learns: one rank's part of data-parallel training.
//
// Each rank has the whole network and its own images; gradients are summed over the ranks while the
// backward pass goes on. With a lag of 1 the update of a step has the gradients of the step before,
// whose sum may take until then; so the first step makes no update, and the gradients of the last
// one are never applied.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"
#include "models/network/gradient_exchange.hpp"
#include "models/network/loss_scale.hpp"
#include "models/network/resnet.hpp"

namespace assay {

struct TrainerSettings {
  ResnetShape shape;
  std::int64_t batch = 16;      ///< images of one rank in a pass
  std::int64_t accumulate = 1;  ///< passes of one step: their gradients are added before the update
  std::int64_t lag = 0;         ///< steps from the gradients to their update: 0 or 1
  Precision precision = Precision::fp32;
  Learning learning;
  LossScaleSettings loss_scale;
  ExecutorSettings executor;
  std::uint64_t seed = 1;  ///< of the initial parameters
  /// Gradients that are summed over the ranks in one call, at least.
  std::size_t bucket_bytes = 25 << 20;
};

/// What a step checks of itself.
struct StepCheck {
  std::set<std::size_t> nodes;  ///< of the graph, each against its oracle
  /// That what the update reads is the sum over the ranks, at random elements; with a lag, that of
  /// the step before, of one rank, too.
  bool gradient_sum = false;
  std::uint64_t seed = 1;
  double budget = 2e5;  ///< multiply-adds of one node's reference
  Verification found;
};

/// Seconds of the last step.
struct StepSeconds {
  double forward = 0, backward = 0, exposed_communication = 0, update = 0;
};

class Trainer {
 public:
  /// `ranks` must live as long; `gradients` connects the same ranks and adds their gradients (null:
  /// `ranks` does). Collective.
  static Result<std::unique_ptr<Trainer>> make(const TrainerSettings& settings, Plugins& plugins,
                                               Communicator& ranks,
                                               std::shared_ptr<Communicator> gradients = nullptr);

  const Graph& graph() const { return executor_->graph(); }
  Executor& executor() { return *executor_; }
  Device& device() { return executor_->device(); }
  const TrainerSettings& settings() const { return settings_; }

  /// Parameters as functions of the seed, velocities 0, statistics of no data: mean 0, variance 1.
  /// The same on every rank.
  void initialise();
  /// The images of the next step [batch, side, side, 3] and their classes.
  void load(std::span<const float> images, std::span<const std::int64_t> labels);
  /// The images of the next step as a function of the index in [batch, 3, side, side].
  void load(const Source& images, std::span<const std::int64_t> labels);
  /// As many forward and backward passes as gradients are accumulated of, the sum over the ranks,
  /// and the update at `rate`, which is skipped where the gradients are not all finite. `load_next`
  /// loads the images of each pass but the first, and counts in no phase; empty: all have the same
  /// images. One of the passes is checked. Collective.
  void step(double rate, StepCheck* check = nullptr, const std::function<void()>& load_next = {});
  /// A step with the last images, each node of which is waited for: its seconds, the sum over the
  /// passes. Collective.
  std::vector<double> timed_step(double rate);
  /// Forward and backward pass alone: gradients stay this rank's own, times loss_scale().scale().
  void make_gradients();
  /// Makes everything that no run may allocate, and chooses backends where that is measured.
  /// Images must be loaded. Collective. Parameters stay as they are.
  void prepare();

  /// What a step changes and the next one depends on: parameters, velocities, statistics; with a
  /// lag, the gradients that wait for their update, summed over the ranks.
  struct State {
    std::vector<std::vector<std::byte>> values;
    std::vector<double> running;
    LossScaleState loss_scale;
    double waiting_scale = 0;  ///< loss scale of the waiting gradients; 0: none wait
    OwnGradients own{};        ///< of them, where they are known: before their sum
  };
  void save(State& state);
  /// The trainer continues from `state`, which becomes what the trainer had. InputError where the
  /// state has loss scales that no run of these settings has, or gradients that wait without a lag.
  void exchange(State& state);
  /// The largest difference of a parameter's velocity from that of `state`, as a part of its
  /// 2-norm, and where it is.
  struct Difference {
    double relative = 0;
    std::string parameter;
  };
  Difference difference(const State& state) const;

  /// Mean loss of the images of the last step, on this rank.
  double loss() const;
  /// Images of its last pass whose class was found.
  std::int64_t correct() const;
  /// The elements of the summed gradient that were not finite, those that were 0, and weights that
  /// were too large for their update to change them.
  std::vector<double> counts() const;
  StepSeconds seconds() const { return seconds_; }
  /// What is known of how gradients are added; nothing of one rank.
  Executed executed_sum() const;
  const LossScale& loss_scale() const { return loss_scale_; }
  /// Whether good steps may double a dynamic loss scale; at first, and after initialise(), they
  /// may.
  void let_loss_scale_grow(bool grows) { loss_scale_.let_grow(grows); }
  /// Judges a step by its gradients, as step() does: whether they are finite, on this rank. The
  /// ranks agree, so that all of them decide alike afterwards: CaseError on all where some ranks'
  /// sums are finite and others' are not, since their weights then differ. Collective.
  void judge_gradients(bool finite);
  /// Whether the last step's update was skipped, and the loss scale is now smaller than that of the
  /// gradients that were not finite.
  bool lowered() const { return lowered_; }
  /// lowered(), or the next step will be, for gradients that this one has made: checks of it say
  /// nothing. With a lag it waits for their sum. The same on all ranks. Collective.
  bool overflowed();
  /// Whether the last step made an update, or skipped it: with a lag the first step has none.
  bool updated() const { return updated_; }
  /// Moving averages of the statistics (momentum 0.1, variances unbiased), as
  /// Graph::batch_statistics lays them out.
  const std::vector<double>& running_statistics() const { return running_; }
  std::vector<double>& running_statistics() { return running_; }

 private:
  Trainer(const TrainerSettings& settings, std::unique_ptr<Executor> executor, Communicator& ranks,
          std::shared_ptr<Communicator> gradients);
  void run_node(std::size_t node, StepCheck* check);
  bool whole_phases(const StepCheck* check) const;
  void run_pass(bool last, StepCheck* check);
  void run_passes(StepCheck* check, const std::function<void()>& load_next);
  void update(StepCheck* check);
  void judge(bool finite, double scale);
  double lap();                ///< seconds since the lap before, when all work is done
  void end_of(double& phase);  ///< adds the lap to the phase, but for what communication took of it
  double batch_loss() const;
  std::vector<ValueIndex> state_values() const;
  void put_number(ValueIndex value, double number);
  std::vector<double> numbers(ValueIndex value) const;
  void average_statistics();

  Communicator& adding() const { return gradients_ ? *gradients_ : ranks_; }

  TrainerSettings settings_;
  std::shared_ptr<Communicator> gradients_;  // outlives the memory that it gives
  std::unique_ptr<Executor> executor_;
  Communicator& ranks_;
  std::unique_ptr<GradientExchange> exchange_;
  std::vector<double> running_, batch_statistics_;
  StepSeconds seconds_;
  std::vector<double> node_seconds_;           ///< of the nodes of a timed_step(); else empty
  std::chrono::steady_clock::time_point lap_;  ///< until when the phases of the step are counted
  double earlier_losses_ = 0;  ///< sum over the passes of the last step but the last pass
  LossScale loss_scale_;
  double waiting_scale_ = 0;  ///< as State's
  bool lowered_ = false, updated_ = false;
};

}  // namespace assay
