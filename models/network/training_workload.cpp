#include "models/network/training_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/rank_locations.hpp"
#include "models/input/reading.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/claimed_scale.hpp"
#include "models/network/judged_batches.hpp"
#include "models/network/memory_use.hpp"
#include "models/network/parity.hpp"
#include "models/network/self_check.hpp"
#include "models/network/step_arrivals.hpp"
#include "models/network/step_numbers.hpp"
#include "models/network/step_stream.hpp"
#include "models/network/tolerance.hpp"
#include "models/network/training_burn.hpp"
#include "models/network/training_checkpoint.hpp"
#include "models/network/training_texts.hpp"
#include "models/network/training_to_accuracy.hpp"
#include "models/network/work_count.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// Set before main(), when no data has been read yet.
const auto process_start = std::chrono::system_clock::now();

class TrainingWorkload final : public Workload {
 public:
  TrainingWorkload(const TrainingRun& run, std::unique_ptr<Trainer> trainer, Plugins& plugins,
                   Communicator& ranks, const MemoryUse& memory, double allocate_seconds)
      : run_(run),
        trainer_(std::move(trainer)),
        oracle_(run.claims
                    ? std::make_unique<StepOracle>(StepClaims(*run.claims, run.definition.input),
                                                   trainer_->executor(), ranks)
                    : nullptr),
        checks_(*trainer_, ranks, run.convergence.rate, oracle_.get()),
        plugins_(plugins),
        ranks_(ranks),
        memory_(memory),
        resident_(is_resident(run.data.data)),
        why_host_(resident_ ? trainer_->why_host() : "each step has its images from the host") {
    seconds_ = {{"create", run.create_seconds}, {"allocate", allocate_seconds}};
    open_data();
    if (run.convergence.epochs > 0) {
      throw_on_all(ranks_, [&] { expect_validation(run_.data); });
      expect_trainable(*training_, run.trainer.accumulate, run.convergence);
      TrainingCheckpoint(*trainer_, *training_, ranks_, run_.convergence).expect_usable();
    }
    const auto start = Clock::now();
    trainer_->prepare();
    seconds_["choose_backends"] = seconds_since(start);
  }

  Stream& stream() override {
    return on_host_ ? trainer_->device().stream() : static_cast<Stream&>(stream_);
  }
  Device* device() override { return &trainer_->device(); }
  Result<BurnTarget*> burn_target() override {
    if (!resident_ || run_.trainer.lag > 0 || ranks_.size() > 1)
      return Unsupported{
          "a burn-in repeats a step of one rank on one batch, which learns at once. Use one rank, "
          "--data synthetic, and no --lag."};
    return &burn_;
  }
  // Every step is timed as a whole: a step that ends after its sample must end before the next one
  // begins.
  bool batchable() const override { return resident_ && run_.steps == 0 && !ends_later_; }
  int samples() const override { return run_.steps; }
  /// Call it between timed steps.
  void reset() override {
    end_step();
    training_->pause();  // between timed steps, no input may be read
    if (batches_ && last_ != nullptr) batches_->glance(*last_);
    if (audited_) return;  // the loss may be in poisoned memory
    if (run_.claims && run_.trainer.lag == 0)
      if (const std::string why =
              scale_.see(run_.claims->at("loss_scale"), steps_, trainer_->loss_scale().state());
          !why.empty())
        throw WrongResult(why);
    if (run_.cold) drop_from_cache(list_files(run_.data));
    if (steps_ > 0 &&
        (!run_.convergence.progress || seconds_since(reported_) < run_.progress_seconds))
      return;
    if (steps_ > 0)
      run_.convergence.progress(
          fmt::format("{} steps: loss {:.4f}, {:.1f} images/s with the checks among them", steps_,
                      trainer_->loss(),
                      static_cast<double>(steps_ - reported_steps_) * images_of_step() /
                          seconds_since(reported_)));
    reported_ = Clock::now();
    reported_steps_ = steps_;
  }

  void run(Stream&) override {
    double input = 0;
    stream_.begin();
    const auto begun = Clock::now();
    const bool reads = !audited_ && is_files(run_.data.data);
    if (reads) reading_.begin(training_->counters());
    const auto load = [&] {
      const auto start = Clock::now();
      if (!resident_) load_next();
      input += seconds_since(start);
    };
    load();
    if (ends_later_)
      trainer_->start_step(run_.convergence.rate);
    else
      trainer_->step(run_.convergence.rate, nullptr, load);
    ++steps_;
    started_ = ends_later_;
    if (ends_later_) return;
    const double seconds = seconds_since(begun);
    const bool counts = count_step(input, seconds);
    if (reads && counts) reading_.end(training_->counters(), seconds);
  }

  ArrivalSource arrival_source() const override {
    if (run_.trainer.lag > 0) return {{}, "with a lag ranks wait for the sum of the step before"};
    return {ArrivalSource::Kind::steps, "", run_.network};
  }
  std::vector<Arrival> take_arrivals() override {
    end_step();
    return arrivals_.take();
  }

  void begin_audit(Audit kind) override {
    end_step();
    training_->pause();
    trainer_->save(state_);
    audited_ = true;
    if (kind == Audit::poisoned_outputs)
      trainer_->executor().poison();
    else if (resident_)
      load_random(*trainer_, make_seed(++draws_));
    // Else the step loads its next images itself. Without poison, operations cannot notice this
    // audit.
  }

  /// Repeats the step from the same state, with checks, and compares the resulting states.
  Verification end_audit() override {
    end_step();
    Verification verification;
    verification.passed = true;
    checks_.judge_finite("in the timed phase", verification);
    bool skipped = trainer_->lowered();
    if (run_.trainer.lag > 0) {
      const auto load = [this] {
        if (!resident_) load_next();
      };
      const Verification learnt = checks_.learn(load, "in the timed phase");
      if (verification.passed && !learnt.passed) verification = learnt;
    }
    skipped = skipped || trainer_->has_overflowed();
    trainer_->swap_state(state_);
    Trainer::State before;
    if (size_of(operand_type(run_.trainer.precision)) == 2) trainer_->save(before);
    const Verification again = checks_.make("in the timed phase");
    if (verification.passed && !again.passed) verification = again;
    if (skipped != checks_.skipped())
      verification.fail("the timed step and the same step with checks: one was skipped, one not");
    verification.checked = again.checked;
    // A step that was skipped because of gradients that are not finite leaves nothing to compare.
    if (!skipped) checks_.compare(state_, before, "a timed step", verification);
    verification.outputs = verification.checked;
    if (resident_) load_next();
    judge_batches(verification);
    checks_.forget();
    state_ = {};
    scale_.forget();  // the checks have made steps
    audited_ = false;
    return verification;
  }

  Verification verify_before() override {
    const auto start = Clock::now();
    measure_memory();
    TrainerSettings settings = run_.trainer;
    settings.executor.chosen = list_choices_of_pass(trainer_->executor());
    Verification parity;  // each rank computes it alone; later calls are collective
    ParityLimits limits;
    limits.bytes /= ranks_here(ranks_);  // the ranks of a host compare at the same time
    throw_on_all(ranks_, [&] { parity = compare_with_reference(settings, plugins_, limits); });
    Verification verification = parity;
    if (std::exchange(verification.undecided, false))
      verification.passed = true;  // unless a later check fails
    const Verification in_step = checks_.make("before timing");
    if (verification.passed && !in_step.passed) verification = in_step;
    verification.checked += in_step.checked;
    verification.outputs = verification.checked;
    judge_batches(verification);
    if (run_.claims && run_.self_check)
      self_check(*trainer_, run_.convergence.rate, run_.definition.small, *run_.claims, plugins_,
                 ranks_, run_.gradients, verification);
    verification.reference += describe_reference(run_);
    numbers_ = {};
    reading_ = {};
    warm_ = false;
    seconds_["verify"] = seconds_since(start);
    return verification.passed && parity.undecided ? parity : verification;
  }

  Verification verify_after() override {
    end_step();
    Verification verification;
    verification.passed = true;
    reading_metrics_ = reading_.metrics(ranks_, bad_samples({training_.get()}));
    if (!reading_metrics_.empty())
      reading_metrics_["mean_images_per_s"] = {reading_.images_per_s(ranks_), "", "higher"};
    checks_.judge_finite("after the last timed step", verification);
    last_loss_ = checks_.mean_loss();
    if (!verification.passed) return verification;
    verification = checks_.make("after timing");
    verification.fail(why_not_rates());
    judge_batches(verification);
    double refused = verification.passed ? 0 : 1;  // by any rank, since later calls are collective
    ranks_.allreduce_max(std::span(&refused, 1));
    if (refused > 0) return verification;
    time_layers();
    if (run_.convergence.epochs > 0) converge(verification);
    return verification;
  }

  Execution execution() const override { return make_training_execution(*trainer_, run_.trainer); }
  std::map<std::string, double> work() const override { return run_.amounts; }
  std::map<std::string, double> take_done() override {
    end_step();
    const NetworkWork work = work_count_.take(trainer_->executor(), ranks_);
    double loaded = static_cast<double>(std::exchange(loaded_, 0));
    RankCalls(ranks_).sum(std::span(&loaded, 1));
    std::map<std::string, double> done{{"images_per_s", work.images}, {"flops_per_s", work.flops}};
    // Only images count that were loaded, passed through all nodes, and were used by an update.
    if (!resident_) done["images_per_s"] = std::min(work.images, loaded);
    if (!run_.claims) return done;
    const StepClaims claims(*run_.claims);
    done["images_per_s"] = std::min(
        done["images_per_s"], work.updates * static_cast<double>(claims.passes * claims.batch));
    return done;
  }
  std::map<std::string, double> setup() const override { return seconds_; }

  std::map<std::string, Metric> metrics() const override {
    std::map<std::string, Metric> all = numbers_.metrics();
    all.merge(operation_metrics(layers_));
    all.insert(reading_metrics_.begin(), reading_metrics_.end());
    if (peak_memory_ > 0) all["peak_memory_bytes"] = {peak_memory_, "B", "lower"};
    if (checks_.spread() > 0) all["difference_of_equal_runs"] = {checks_.spread(), "", ""};
    if (converged_.epochs.empty()) {
      all["loss_of_last_step"] = {last_loss_, "", ""};
      return all;
    }
    all.merge(convergence_metrics(converged_));
    return all;
  }

  std::vector<LayerTime> layers() const override { return layers_; }

  std::vector<Epoch> series() const override { return epoch_numbers(converged_); }

 private:
  /// Ends a step that a device has made between the marks of a sample: reads its results. Each
  /// function that needs a result of the last step calls it first. reset() calls it before the next
  /// step, so each step is judged before the next one begins. Collective.
  void end_step() {
    if (!std::exchange(started_, false)) return;
    trainer_->finish_step(stream_.begun());
    // A held device runs a whole sample without gaps, so its phases must add up to the sample.
    count_step(0, stream_.held() ? stream_.seconds(0, 1) : *trainer_->device_seconds());
  }

  /// Records the numbers of a step. Records nothing and returns false for an audited step, which
  /// end_audit() judges, and for the first step.
  bool count_step(double input, double seconds) {
    if (audited_) return false;
    arrivals_.add(*trainer_, stream_.begun(), input, seconds);
    // All ranks decide the same, since they have judged the step in the same way.
    if (const LossScale& scale = trainer_->loss_scale(); scale.has_diverged() || scale.stuck())
      throw WrongResult(describe_divergence(scale, steps_));
    if (!std::exchange(warm_, true)) return false;  // no batch was ready for the first step
    numbers_.add(*trainer_, input, seconds, trainer_->device_seconds() && !stream_.held());
    return true;
  }

  std::string why_not_rates() const {
    const auto metric = reading_metrics_.find("mean_images_per_s");
    if (metric == reading_metrics_.end()) return numbers_.why_not_whole();
    return numbers_.why_not_rate(metric->second.value, images_of_step());
  }

  double images_of_step() const {
    return static_cast<double>(run_.trainer.batch * run_.trainer.accumulate * ranks_.size());
  }

  std::uint64_t make_seed(int draw) const {
    return run_.trainer.seed + static_cast<std::uint64_t>(draw) * 1000003 +
           static_cast<std::uint64_t>(ranks_.rank()) * 7919;
  }

  BatchShare share() const {
    return {run_.trainer.batch, ranks_.rank(), ranks_.size(), true, run_.trainer.seed};
  }

  void load_next() {
    const Batch& batch = take_next(*training_, ranks_);
    trainer_->load(batch.images, batch.labels);
    last_ = &batch;
    loaded_ += batch.count;
    if (audited_) training_->pause();  // until the checks are made
    if (audited_ && batches_) batches_->judge(batch, *trainer_);
    // The step will be repeated, but the trainer holds only its last images.
    if (audited_ && !resident_ && run_.trainer.accumulate + run_.trainer.lag > 1)
      checks_.keep(batch.images, batch.labels);
  }

  /// InputError on all ranks if there are too many. Collective.
  std::int64_t bad_samples(const std::vector<const Batches*>& sources) const {
    std::vector<BadSamples> mine;
    for (const Batches* const source : sources)
      mine.push_back({source->canonical(), source->faults(), source->state().bad_samples,
                      last_message(source->bad_sample_messages())});
    return number_within(run_.data.max_bad_samples, mine, ranks_);
  }

  /// Opens the data and takes the first batch, on all ranks together: a rank with bad files, or
  /// with files that remain in the page cache, must not leave the other ranks waiting.
  void open_data() {
    if (run_.cold) throw_on_all(ranks_, [&] { make_cold(list_files(run_.data)); });
    throw_on_all(ranks_, [&] {
      training_ = make_training_batches(run_.data, share());
      const Batch& batch = training_->next();
      trainer_->load(batch.images, batch.labels);
      training_->pause();
      if (!run_.claims) return;
      batches_.emplace(*run_.claims, run_.definition.input, run_.claimed_seed, ranks_);
      batches_->judge(batch, *trainer_);
    });
  }

  /// Judges the batches since the last call. Collective.
  void judge_batches(Verification& verification) {
    if (batches_) verification.fail(batches_->take_fault());
  }

  /// Measures the memory of the network and one step, before any check.
  void measure_memory() {
    peak_memory_ = memory_.measure_peak(
        [this] {
          trainer_->executor().poison();  // touches all of it
          // With a lag the first step has no update.
          for (std::int64_t i = 0; i <= run_.trainer.lag; ++i)
            trainer_->step(run_.convergence.rate);
        },
        trainer_->executor().bytes(), ranks_);
  }

  /// Layers are timed in separate steps, because waiting for each operation costs time.
  void time_layers() {
    Trainer::State before;
    trainer_->save(before);
    std::vector<std::vector<double>> runs;
    for (int i = 0; i < timed_runs; ++i) runs.push_back(trainer_->time_step(run_.convergence.rate));
    trainer_->swap_state(before);
    layers_ = list_layer_times(trainer_->executor(), runs,
                               static_cast<int>(run_.trainer.accumulate), ranks_);
  }

  void converge(Verification& verification) {
    if (run_.cold) drop_from_cache(list_files(run_.data));
    const auto validation = make_validation_batches(run_.data, share());
    const auto count_bad = [&] { return bad_samples({training_.get(), validation.get()}); };
    converged_ = train_to_accuracy(run_, {*trainer_, *training_, *validation, oracle_.get()},
                                   plugins_, ranks_, count_bad, verification);
    if (converged_.epochs.empty()) return;  // diverged
    if (const auto bad = reading_metrics_.find("bad_samples"); bad != reading_metrics_.end())
      bad->second.value = static_cast<double>(count_bad());
    seconds_["before_training"] =
        converged_.epochs.front().started_unix_s -
        std::chrono::duration<double>(process_start.time_since_epoch()).count();
  }

  TrainingRun run_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<StepOracle> oracle_;
  CheckedSteps checks_;
  TrainingBurn burn_{*trainer_, checks_, run_.convergence.rate};
  std::optional<JudgedBatches> batches_;
  const Batch* last_ = nullptr;  ///< batch that a step has loaded
  Plugins& plugins_;
  Communicator& ranks_;
  MemoryUse memory_;
  const bool resident_;
  const std::string why_host_;  ///< why the host takes part in each step
  const bool on_host_ = trainer_->device().name() == "cpu";
  const bool ends_later_ = !on_host_ && why_host_.empty();  ///< steps end after their samples
  StepStream stream_{trainer_->device().stream(), why_host_, [this] { trainer_->wait_for_sums(); }};
  bool started_ = false;  ///< a step that ends later
  double peak_memory_ = 0;
  Trainer::State state_;
  bool audited_ = false;
  bool warm_ = false;  ///< a step was made after verify_before()
  WorkCount work_count_;
  WatchedScale scale_;
  std::int64_t loaded_ = 0;  ///< images, since the last call of take_done()
  StepNumbers numbers_;
  StepArrivals arrivals_;
  Reading reading_;  ///< of the timed steps
  std::map<std::string, Metric> reading_metrics_;
  std::map<std::string, double> seconds_;
  double last_loss_ = 0;
  std::unique_ptr<Batches> training_;
  Convergence converged_;
  std::vector<LayerTime> layers_;
  int draws_ = 0;
  std::int64_t steps_ = 0,
               reported_steps_ = 0;  ///< steps of the timing loop; those at the last report
  Clock::time_point reported_ = Clock::now();
};

}  // namespace

Result<std::unique_ptr<Workload>> make_training_workload(const TrainingRun& run, Plugins& plugins,
                                                         Communicator& ranks) {
  const MemoryUse memory(run.trainer.executor, plugins);
  const auto start = Clock::now();
  auto trainer = Trainer::make(run.trainer, plugins, ranks, run.gradients);
  if (auto* refusal = std::get_if<Unsupported>(&trainer)) return std::move(*refusal);
  if (std::string why = std::get<std::unique_ptr<Trainer>>(trainer)->executor().why_unused();
      !why.empty())
    return Unsupported{std::move(why)};
  return std::make_unique<TrainingWorkload>(run,
                                            std::move(std::get<std::unique_ptr<Trainer>>(trainer)),
                                            plugins, ranks, memory, seconds_since(start));
}

}  // namespace assay
