#include "models/parallel/parallel_workload.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/program/rank_locations.hpp"
#include "models/network/checked_steps.hpp"
#include "models/network/memory_use.hpp"
#include "models/network/parity.hpp"
#include "models/network/step_numbers.hpp"
#include "models/network/training_texts.hpp"
#include "models/parallel/parallel_training.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

class ParallelWorkload final : public Workload {
 public:
  ParallelWorkload(std::unique_ptr<TrainingRun> run, std::unique_ptr<Trainer> whole,
                   std::unique_ptr<ParallelWay> way, Plugins& plugins, Communicator& ranks,
                   const MemoryUse& memory)
      : run_(std::move(run)),
        whole_(std::move(whole)),
        way_(std::move(way)),
        oracle_(run_->claims ? std::make_unique<StepOracle>(
                                   StepClaims(*run_->claims, run_->definition.input),
                                   whole_->executor(), ranks)
                             : nullptr),
        checks_(*whole_, ranks, run_->convergence.rate, oracle_.get()),
        plugins_(plugins),
        ranks_(ranks),
        memory_(memory) {}

  Stream& stream() override { return whole_->device().stream(); }
  Device* device() override { return &whole_->device(); }
  bool batchable() const override { return false; }
  int samples() const override {
    const auto each = static_cast<int>(steps_of_run(run_->parallel));
    return (run_->steps + each - 1) / each;
  }
  void reset() override {}

  void run(Stream&) override {
    last_ = make(audited_);
    done_.images += last_.images;
    done_.flops += last_.flops;
  }

  void begin_audit(Audit kind) override {
    audited_ = true;
    way_->prepare_judge();
    if (kind == Audit::poisoned_outputs) way_->poison();  // else each step has new samples anyway
  }

  Verification end_audit() override {
    audited_ = false;
    Verification verification;
    verification.passed = true;
    way_->judge(verification);
    judge_loss("in the timed phase", verification);
    verification.outputs = verification.checked;
    return verification;
  }

  Verification verify_before() override {
    const auto start = std::chrono::steady_clock::now();
    peak_memory_ = memory_.measure_peak(
        [this] {
          whole_->executor().poison();  // touches all of it
          way_->begin();
          make(false);
        },
        whole_->executor().bytes(), ranks_);
    next_ = 0;
    whole_->initialise();
    TrainerSettings settings = run_->trainer;
    settings.executor.chosen = list_choices_of_pass(whole_->executor());
    Verification parity;  // each rank computes it alone; later calls are collective
    ParityLimits limits;
    limits.bytes /= ranks_here(ranks_);
    throw_on_all(ranks_, [&] { parity = compare_with_reference(settings, plugins_, limits); });
    Verification verification = parity;
    if (std::exchange(verification.undecided, false)) verification.passed = true;
    add(checks_.make("before timing"), verification);
    verification.outputs = verification.checked;
    verification.reference += "; " + way_->reference() + describe_reference(*run_);
    whole_->initialise();
    way_->begin();
    seconds_["verify"] = seconds_since(start);
    return verification.passed && parity.undecided ? parity : verification;
  }

  Verification verify_after() override {
    Verification verification;
    verification.passed = true;
    judge_loss("after the last timed step", verification);
    way_->gather();
    add(checks_.make("after timing"), verification);
    verification.outputs = verification.checked;
    double refused = verification.passed ? 0 : 1;  // by any rank, since later calls are collective
    ranks_.allreduce_max(std::span(&refused, 1));
    metrics_ = way_->metrics();
    if (refused > 0 || run_->convergence.epochs == 0) return verification;
    converged_ = train_parallel({*run_, plugins_, ranks_, *whole_}, *way_, verification);
    if (!converged_.epochs.empty()) {
      metrics_ = way_->metrics();
      metrics_.merge(convergence_metrics(converged_));
    }
    return verification;
  }

  ArrivalSource arrival_source() const override {
    return {{}, "the ranks of --parallel " + to_text(run_->parallel) + " do not meet once a step"};
  }
  Execution execution() const override {
    Execution ran = make_training_execution(*whole_, run_->trainer);
    ran.implementation = make_executed(whole_->executor(), run_->trainer).implementation + ", " +
                         way_->implementation();
    ran.wire_bits.reset();
    return ran;
  }
  std::map<std::string, double> work() const override {
    std::map<std::string, double> all = run_->amounts;
    for (auto& [name, amount] : all) amount *= static_cast<double>(steps_of_run(run_->parallel));
    return all;
  }
  std::map<std::string, double> take_done() override {
    double sums[] = {done_.images, done_.flops};
    done_ = {};
    RankCalls(ranks_).sum(sums);
    return {{"images_per_s", sums[0]}, {"flops_per_s", sums[1]}};
  }
  std::map<std::string, double> setup() const override { return seconds_; }
  std::map<std::string, Metric> metrics() const override {
    std::map<std::string, Metric> all = metrics_;
    if (peak_memory_ > 0) all["peak_memory_bytes"] = {peak_memory_, "B", "lower"};
    if (converged_.epochs.empty()) all["loss_of_last_step"] = {last_loss_, "", ""};
    return all;
  }
  std::vector<Epoch> series() const override { return epoch_numbers(converged_); }

  std::map<std::string, double> seconds_;

 private:
  /// The steps of a timed run.
  StepTotals make(bool judged) {
    StepRange range{0, next_, {}, judged};
    range.rates.assign(static_cast<std::size_t>(steps_of_run(run_->parallel)),
                       run_->convergence.rate);
    next_ += range.count();
    return way_->make(range);
  }

  static void add(const Verification& more, Verification& total) {
    total.checked += more.checked;
    total.wrong_elements += more.wrong_elements;
    if (!more.passed) total.fail(more.reason);
  }

  /// Collective.
  void judge_loss(const std::string& when, Verification& verification) {
    last_loss_ = mean_loss(last_, ranks_);
    if (std::isfinite(last_loss_)) return;
    verification.fail(fmt::format(
        "the loss is {} {} (training diverged, or an operation did not write its results). Use a "
        "smaller --rate.",
        last_loss_, when));
  }

  std::unique_ptr<TrainingRun> run_;
  std::unique_ptr<Trainer> whole_;
  std::unique_ptr<ParallelWay> way_;
  std::unique_ptr<StepOracle> oracle_;
  CheckedSteps checks_;
  Plugins& plugins_;
  Communicator& ranks_;
  MemoryUse memory_;
  double peak_memory_ = 0;
  std::int64_t next_ = 0;
  bool audited_ = false;
  StepTotals last_, done_;
  double last_loss_ = 0;
  Convergence converged_;
  std::map<std::string, Metric> metrics_;
};

/// Why a training that is not synchronous cannot have these options; "" if it can.
std::string why_not_options(const TrainingRun& run, const Communicator& ranks) {
  const std::string way = "--parallel " + to_text(run.parallel);
  if (ranks.size() < 2) return way + " needs 2 ranks or more. Start it with mpirun -n RANKS.";
  const auto refuse = [&](const std::string& flag) {
    return fmt::format("{} is for --parallel sync, not for {}. Leave it out.", flag, way);
  };
  if (run.trainer.lag > 0) return refuse("--lag");
  if (run.trainer.control) return refuse("--control");
  if (run.gradients != nullptr && run.parallel.kind != WayKind::pipeline &&
      run.parallel.kind != WayKind::split)
    return refuse("--allreduce, --allreduce-transport or --wire");
  if (run.gradients != nullptr && run.parallel.replicated)
    return way + " adds among several groups of ranks. Leave --allreduce and its transport out.";
  if (run.parallel.replicated && is_files(run.data.data))
    return way +
           ": files are read ahead in their order, and each group takes some of the batches. Use "
           "--data learnable or synthetic.";
  if (!run.convergence.checkpoint.empty()) return refuse("--checkpoint");
  if (run.cold) return refuse("--page-cache cold");
  if (run.self_check) return refuse("--self-check");
  return "";
}

Result<std::unique_ptr<ParallelWay>> make_way(const WayParts& parts) {
  switch (parts.run.parallel.kind) {
    case WayKind::pipeline:
      return make_pipeline_way(parts);
    case WayKind::split:
      return make_split_way(parts);
    default:
      return make_servers_way(parts);
  }
}

}  // namespace

Result<std::unique_ptr<Workload>> make_parallel_workload(const TrainingRun& training,
                                                         Plugins& plugins, Communicator& ranks) {
  if (std::string why = why_not_options(training, ranks); !why.empty())
    return Unsupported{std::move(why)};
  const auto start = std::chrono::steady_clock::now();
  auto run = std::make_unique<TrainingRun>(training);
  const MemoryUse memory(run->trainer.executor, plugins);
  TrainerSettings of_whole = run->trainer;
  of_whole.sums_on_device = false;  // the ranks' own messages use memory of the host
  auto trainer = Trainer::make(of_whole, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&trainer)) return std::move(*refusal);
  auto& whole = std::get<std::unique_ptr<Trainer>>(trainer);
  if (std::string why = whole->executor().why_unused(); !why.empty())
    return Unsupported{std::move(why)};
  const double allocate_seconds = seconds_since(start);
  throw_on_all(ranks, [&] {
    OrderedBatches batches(*run, ranks);
    const Batch& batch = batches.at(0, 0);
    whole->load(batch.images, batch.labels);
  });
  whole->prepare();
  whole->initialise();
  auto way = make_way({*run, plugins, ranks, *whole});
  if (auto* refusal = std::get_if<Unsupported>(&way)) return std::move(*refusal);
  auto workload = std::make_unique<ParallelWorkload>(
      std::move(run), std::move(whole), std::move(std::get<std::unique_ptr<ParallelWay>>(way)),
      plugins, ranks, memory);
  workload->seconds_ = {{"create", training.create_seconds}, {"allocate", allocate_seconds}};
  return workload;
}

}  // namespace assay
