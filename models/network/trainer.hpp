#pragma once
// One rank's part of the data-parallel training of a network.
//
// Each rank has the whole network and its own images. Gradients are summed over the ranks during
// the backward pass. With a lag of 1, the update of a step uses the gradients of the previous step,
// whose sum may take until then. So the first step makes no update, and the gradients of the last
// step are never applied.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/measure/arrival.hpp"
#include "core/measure/workload.hpp"
#include "models/network/executor.hpp"
#include "models/network/gradient_exchange.hpp"
#include "models/network/loss_scale.hpp"
#include "models/network/network.hpp"

namespace assay {

struct TrainerSettings {
  Network network;
  std::int64_t batch = 16;      ///< images of one rank in a pass
  std::int64_t accumulate = 1;  ///< passes of a step, whose gradients are added before the update
  std::int64_t lag = 0;         ///< steps between the gradients and their update: 0 or 1
  std::optional<int> control;   ///< control of GradientExchange
  Precision precision = Precision::fp32;
  Learning learning;
  LossScaleSettings loss_scale;
  ExecutorSettings executor;
  std::uint64_t seed = 1;  ///< of the initial parameters
  /// Smallest number of bytes of gradients that one call sums over the ranks.
  std::size_t bucket_bytes = 25 << 20;
  /// True if the communicator that sums the gradients reads the memory of the device; else, on a
  /// GPU, they are staged through memory of the host.
  bool sums_on_device = false;
};

/// The checks of a step, and their result.
struct StepCheck {
  std::set<std::size_t> nodes;  ///< of the graph; each is compared with its oracle
  /// True to check, at random elements, that the update reads the sum of all ranks' gradients; with
  /// a lag, the sum of the previous step's gradients, even for one rank.
  bool gradient_sum = false;
  std::uint64_t seed = 1;
  Verification verification;
};

/// Seconds of the phases of a step.
struct StepSeconds {
  double forward = 0, backward = 0, exposed_communication = 0, update = 0;
};

class Trainer {
 public:
  /// `ranks` must outlive the trainer. `gradients` connects the same ranks and sums their
  /// gradients; null: `ranks` sums them. Collective.
  static Result<std::unique_ptr<Trainer>> make(const TrainerSettings& settings, Plugins& plugins,
                                               Communicator& ranks,
                                               std::shared_ptr<Communicator> gradients = nullptr);

  const Graph& graph() const { return executor_->graph(); }
  Executor& executor() { return *executor_; }
  Device& device() { return executor_->device(); }
  const TrainerSettings& settings() const { return settings_; }

  /// Sets initial parameters, which depend on the seed, velocities and second moments 0, means 0
  /// and variances 1. Equal on all ranks.
  void initialise();
  /// Loads the images [batch, height, width, channels] of the next step and their labels.
  void load(std::span<const float> images, std::span<const std::int64_t> labels);
  /// The same with images in the order [batch, channels, height, width].
  void load(const Source& images, std::span<const std::int64_t> labels);
  /// One step: `accumulate` forward and backward passes, the sum over the ranks, and the update
  /// with the learning rate `rate`. The update is skipped if a gradient is not finite. `load_next`
  /// loads the images of each pass except the first; no phase includes its time; empty: all passes
  /// have the same images. `check` applies to one of the passes. Collective.
  void step(double rate, StepCheck* check = nullptr, const std::function<void()>& load_next = {});
  /// step(rate) in two parts, for a device that can take a whole step at once (always if why_host()
  /// is ""; else std::logic_error). start_step() submits all work to the device, including copies
  /// of the data that the host reads, and waits for nothing. finish_step() waits for the device,
  /// reads these data, and does the host's part, which the next step needs. Between the two, only
  /// wait_for_sums() may be called (functions of steps and states throw std::logic_error). `begun`:
  /// raw_seconds() when the device began; if missing, when start_step() began. finish_step() is
  /// collective.
  void start_step(double rate);
  /// Waits for the sums of a started step. CaseError if a transfer has failed: the device would
  /// otherwise wait for its peer forever.
  void wait_for_sums();
  void finish_step(std::optional<double> begun = std::nullopt);
  /// Why the host must do a part of each step before the device can begin the next one; "" if it
  /// need not.
  std::string why_host() const;
  /// Makes a step with the last images, waiting after each node. Returns the seconds of each node,
  /// summed over the passes. Collective.
  std::vector<double> time_step(double rate);
  /// Runs only the forward and the backward pass. The gradients are not summed over the ranks, and
  /// contain the factor loss_scale().scale().
  void make_gradients();
  /// Allocates everything that a step needs, and chooses backends if that is measured. Images must
  /// be loaded; parameters do not change. Collective.
  void prepare();

  /// All data that a step changes and the next step needs: parameters, velocities, second moments,
  /// statistics; with a lag also the summed gradients that wait for their update.
  struct State {
    std::vector<std::vector<std::byte>> values;  ///< by read_bytes()
    std::vector<double> running;
    LossScaleState loss_scale;
    double waiting_scale = 0;  ///< loss scale of the waiting gradients; 0: none wait
    OwnGradients own{};        ///< some of the rank's own elements of these, if known
  };
  void save(State& state);
  /// Exchanges the trainer's state with `state`. InputError if the state is impossible with these
  /// settings (its loss scale, or waiting gradients without a lag).
  void swap_state(State& state);
  /// The distance of a tensor from that of an equal run, relative to its 2-norm.
  struct Difference {
    double relative = 0, allowed = 0;
    std::string what;  ///< "the velocity of conv1.weight"
  };
  /// The differences between this state and `state`, both after equal steps. For each parameter:
  /// the difference of its velocity, and that of its weights beyond rounding, relative to the last
  /// update. NaN if a number is NaN; infinite if a 16-bit copy in `state` is not the rounded weight
  /// of `state`. Equal in number and order for equal settings.
  std::vector<Difference> differences(const State& state) const;
  /// The largest difference, relative to its allowed value.
  Difference difference(const State& state) const;

  /// Mean loss of the images of the last step, on this rank.
  double loss() const;
  /// The tensor `counts` of kernels/update/problem.hpp after the last update.
  std::vector<double> counts() const;
  StepSeconds seconds() const { return seconds_; }
  /// The sum of the last step's phases, if the device's clock timed them.
  std::optional<double> device_seconds() const { return device_seconds_; }
  /// When this rank arrived, in the last step, at the sum of the gradients and at the agreement
  /// that ends it; empty for one rank. The caller sets `input` and `run`.
  const std::vector<Arrival>& arrivals() const { return arrivals_; }
  /// GradientExchange::control_messages().
  std::int64_t control_messages() const { return exchange_->control_messages(); }
  /// How gradients are summed, as far as known; empty for one rank.
  Execution sum_execution() const;
  const LossScale& loss_scale() const { return loss_scale_; }
  /// True if finite steps may double a dynamic loss scale; initialise() sets it to true.
  void let_loss_scale_grow(bool grows) { loss_scale_.let_grow(grows); }
  /// Updates the loss scale, as step() does. `finite`: the summed gradients are finite on this
  /// rank. Collective. CaseError on all ranks if they are finite on some ranks only, because the
  /// weights of the ranks then differ.
  void judge_gradients(bool finite);
  /// True if the last step's update was skipped and the loss scale was reduced.
  bool lowered() const { return lowered_; }
  /// True if lowered() is true, or will be after the next step because of this step's gradients.
  /// Checks of such a step prove nothing. With a lag, waits for the sum of the gradients.
  /// Collective, equal on all ranks.
  bool has_overflowed();
  /// True if has_overflowed() found gradients that are not finite at the least dynamic scale.
  bool exhausted() const { return exhausted_; }
  /// True if the last step made or skipped an update. With a lag the first step does neither.
  bool has_updated() const { return updated_; }
  /// Moving averages of the statistics (momentum 0.1, unbiased variances), in the order of
  /// Graph::batch_statistics.
  const std::vector<double>& running_statistics() const { return running_; }
  std::vector<double>& running_statistics() { return running_; }

 private:
  Trainer(const TrainerSettings& settings, std::unique_ptr<Executor> executor, Communicator& ranks,
          std::shared_ptr<Communicator> gradients);
  void run_node(std::size_t node, StepCheck* check);
  void run_phase(Phase phase, bool last, StepCheck* check);
  std::int64_t steps_begun() const;
  void run_pass(bool last, StepCheck* check);
  void run_passes(StepCheck* check, const std::function<void()>& load_next);
  void begin_step(double rate, std::optional<std::uint64_t> seed);
  void expect_ended() const;
  void wait_in_step(StepCheck* check, const std::function<void()>& load_next);
  void update(StepCheck* check);
  void leave_results();
  void take_results();
  void judge(bool finite, double scale);
  void arrive();
  void leave();
  double lap();                 ///< waits for all work; seconds since the last lap
  void add_lap(double& phase);  ///< adds the lap without its communication to the phase
  double batch_loss() const;
  std::vector<ValueIndex> state_values() const;
  void copy_result(ValueIndex value, std::size_t at);
  void put_number(ValueIndex value, double number);
  std::vector<double> numbers(ValueIndex value) const;
  void average_statistics();

  Communicator& adding() const { return gradients_ ? *gradients_ : ranks_; }

  TrainerSettings settings_;
  std::shared_ptr<Communicator> gradients_;  // must outlive the memory that it has allocated
  std::unique_ptr<Executor> executor_;
  Communicator& ranks_;
  std::unique_ptr<GradientExchange> exchange_;
  std::vector<double> running_, batch_statistics_;
  StepSeconds seconds_;
  std::vector<Arrival> arrivals_;
  double since_ = 0, used_ = 0;  ///< raw_seconds() and process_seconds() after the last collective
  std::vector<double> node_seconds_;           ///< of the nodes in a time_step(); else empty
  std::chrono::steady_clock::time_point lap_;  ///< end of the last lap
  double earlier_losses_ = 0;  ///< sum over all passes of the last step except the last one
  LossScale loss_scale_;
  double waiting_scale_ = 0;  ///< State::waiting_scale
  bool lowered_ = false, updated_ = false, exhausted_ = false;
  // Page-locked, so copies from and to it do not wait. They may be in progress until the step ends.
  std::shared_ptr<void> numbers_;  ///< ring of the numbers that put_number() copies to the device
  std::size_t next_number_ = 0;
  std::shared_ptr<void> results_;  ///< counts, then batch_statistics
  std::string why_waits_;          ///< why no step can be submitted as a whole
  bool started_ = false;           ///< start_step() without its finish_step()
  double scale_of_update_ = 0;     ///< loss scale of the update's gradients; 0: no update
  std::optional<double> device_seconds_;
};

}  // namespace assay
