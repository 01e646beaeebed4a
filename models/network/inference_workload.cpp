#include "models/network/inference_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/memory_use.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/step_numbers.hpp"
#include "models/network/tolerance.hpp"
#include "models/network/work_count.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// Nodes of a checked pass that are compared with their oracles, beside the loss.
constexpr std::size_t nodes_of_pass = 6;
/// Compared with fp64.
constexpr std::int64_t images_of_check = 2;

void put_values(Executor& to, ValueIndex value, std::span<const double> values) {
  to.device().put(to.tensor(value), [values](std::int64_t first, std::span<double> out) {
    std::copy_n(values.begin() + first, out.size(), out.begin());
  });
}

/// The parts of `images`, of a tensor whose first dimension they are.
std::vector<double> of_images(const std::vector<double>& all, std::size_t batch,
                              const std::vector<std::size_t>& images) {
  const std::size_t count = all.size() / batch;
  std::vector<double> some;
  for (const std::size_t image : images)
    some.insert(some.end(), all.begin() + static_cast<std::ptrdiff_t>(image * count),
                all.begin() + static_cast<std::ptrdiff_t>((image + 1) * count));
  return some;
}

/// The results of a pass, by name.
using Results = std::vector<std::pair<std::string, std::vector<double>>>;

Results results_of(const Executor& executor) {
  const Graph& graph = executor.graph();
  return {{"logits", read_logits(executor)},
          {"losses", read_values(executor, graph.losses)},
          {"correct answers", read_values(executor, graph.correct)}};
}

void compare(const Results& is, const Results& should, double tolerance, const std::string& what,
             Verification& verification) {
  for (std::size_t i = 0; i < should.size(); ++i) {
    const double relative = relative_difference(is[i].second, should[i].second);
    verification.checked += static_cast<std::int64_t>(should[i].second.size());
    if (relative <= tolerance) continue;  // false for what is no number
    verification.fail(
        fmt::format("{} differ by {:.3g} of their 2-norm from {} (at most {:.3g} is allowed)",
                    is[i].first, relative, what, tolerance));
    verification.wrong_elements += static_cast<std::int64_t>(should[i].second.size());
  }
}

class InferenceWorkload final : public Workload {
 public:
  InferenceWorkload(const InferenceRun& run, std::unique_ptr<Executor> executor, Plugins& plugins,
                    Communicator& ranks, const MemoryUse& memory,
                    std::map<std::string, double> seconds)
      : run_(run),
        executor_(std::move(executor)),
        plugins_(plugins),
        ranks_(ranks),
        memory_(memory),
        seconds_(std::move(seconds)) {
    const auto start = Clock::now();
    load_random(*executor_, seed_of(0));
    if (run_.trainer.executor.measured) executor_->measure(ranks_);
    seconds_["choose_backends"] = seconds_since(start);
  }

  Stream& stream() override { return executor_->device().stream(); }
  Result<EnergyMeter*> energy_meter() override { return executor_->device().energy_meter(); }
  std::optional<DeviceState> device_state() override { return executor_->device().state(); }
  bool batchable() const override { return run_.steps == 0; }
  int samples() const override { return run_.steps; }
  void reset() override {}
  void run(Stream&) override { executor_->run(Phase::forward); }

  void begin_audit(Audit kind) override {
    other_images_ = kind == Audit::new_inputs;
    if (other_images_)
      load_random(*executor_, seed_of(++draws_));
    else
      executor_->poison();
  }

  Verification end_audit() override {
    const Verification verification = judge_last_run("in the timed phase");
    if (other_images_) {
      load_random(*executor_, seed_of(0));
      executor_->run(Phase::forward);  // so that results are of these images if this was the last
    }
    other_images_ = false;
    return verification;
  }

  Verification verify_before() override {
    const auto start = Clock::now();
    peak_memory_ = memory_.peak_of(
        [this] {
          executor_->poison();  // touches all of it
          executor_->run(Phase::forward);
          stream().wait();
        },
        executor_->bytes(), ranks_);
    make_expected();
    executor_->poison();
    executor_->run(Phase::forward);
    Verification verification = judge_last_run("before timing");
    verification.reference = fmt::format(
        "the network in fp64 on {} images: logits and losses; {} "
        "operations of checked runs in fp64",
        images_.size(), nodes_of_pass + 1);
    seconds_["verify"] = seconds_since(start);
    return verification;
  }

  Verification verify_after() override {
    Verification verification = judge_last_run("after timing");
    RankCalls calls(ranks_);
    const std::vector<double> losses = read_values(*executor_, executor_->graph().losses);
    double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
    calls.sum(std::span(&sum, 1));
    mean_loss_ = sum / static_cast<double>(run_.trainer.batch * ranks_.size());
    time_layers();
    // A mean lies between the smallest and the largest.
    const auto [least, most] = std::ranges::minmax(losses);
    double range[] = {-least, most};
    ranks_.allreduce_max(range);
    if (!(mean_loss_ >= -range[0] * (1 - 1e-9) && mean_loss_ <= range[1] * (1 + 1e-9)))
      verification.fail(fmt::format("the mean loss is {}, but losses are {} to {}", mean_loss_,
                                    -range[0], range[1]));
    return verification;
  }

  Executed executed() const override { return executed_of(*executor_, run_.trainer); }
  std::map<std::string, double> work() const override { return run_.amounts; }
  std::map<std::string, double> take_done() override {
    const NetworkWork work = work_count_.take(*executor_, ranks_);
    return {{"images_per_s", work.images}, {"flops_per_s", work.flops}};
  }
  std::map<std::string, double> setup() const override { return seconds_; }
  std::map<std::string, Metric> metrics() const override {
    std::map<std::string, Metric> all = operation_metrics(layers_);
    all["loss"] = {mean_loss_, "", ""};
    if (peak_memory_ > 0) all["peak_memory_bytes"] = {peak_memory_, "B", "lower"};
    return all;
  }
  std::vector<LayerTime> layers() const override { return layers_; }

 private:
  std::uint64_t seed_of(int draw) const {
    return run_.trainer.seed + static_cast<std::uint64_t>(draw) * 1000003 +
           static_cast<std::uint64_t>(ranks_.rank()) * 7919;
  }

  /// Logits and losses of random images in fp64, from the parameters, statistics and images that
  /// the timed network has.
  void make_expected() {
    const auto batch = static_cast<std::size_t>(run_.trainer.batch);
    std::set<std::size_t> chosen;
    std::mt19937_64 random(seed_of(0));
    while (chosen.size() < std::min<std::size_t>(images_of_check, batch))
      chosen.insert(random() % batch);
    images_.assign(chosen.begin(), chosen.end());
    ExecutorSettings plain;
    plain.backends = {"reference"};
    plain.device = "cpu";
    plain.threads = run_.trainer.executor.threads;
    const auto alone = serial_communicator();
    auto executor =
        Executor::make(inference_graph(run_.trainer.network,
                                       static_cast<std::int64_t>(images_.size()), Precision::fp64),
                       plain, plugins_, *alone);
    if (const auto* const refusal = std::get_if<Unsupported>(&executor))
      throw CaseError("the network cannot be checked: " + refusal->reason);
    Executor& reference = *std::get<std::unique_ptr<Executor>>(executor);
    const Graph &from = executor_->graph(), &to = reference.graph();
    for (std::size_t i = 0; i < to.parameters.size(); ++i)
      put_values(reference, to.parameters[i].value,
                 read_values(*executor_, from.parameters[i].value));
    put_values(reference, to.batch_statistics, read_values(*executor_, from.batch_statistics));
    for (const auto& [value, source] :
         {std::pair{to.images, from.images}, std::pair{to.labels, from.labels}})
      put_values(reference, value, of_images(read_values(*executor_, source), batch, images_));
    reference.run(Phase::forward);
    expected_ = results_of(reference);
    expected_.pop_back();  // of two classes that are almost equal, rounding chooses
  }

  /// In passes of their own: to wait for each operation costs time.
  void time_layers() {
    std::vector<std::vector<double>> runs;
    for (int run = 0; run < timed_runs; ++run) {
      std::vector<double>& seconds = runs.emplace_back(executor_->graph().nodes.size());
      executor_->run_timed(Phase::forward, seconds);
    }
    layers_ = layer_times(*executor_, runs, 1, ranks_);
  }

  /// Compares what the last run left with fp64, if it had the images that this is known of, and
  /// with what a run leaves that computes everything anew and is checked.
  Verification judge_last_run(const std::string& when) {
    Verification verification;
    verification.passed = true;
    const Results last = results_of(*executor_);
    if (!other_images_) {
      Results some = last;
      for (auto& [name, values] : some)
        values = of_images(values, static_cast<std::size_t>(run_.trainer.batch), images_);
      compare(some, expected_, network_tolerance(operand_type(run_.trainer.precision)).forward,
              "the network's in fp64", verification);
    }
    checked_run(verification);
    // Sums may be made in another order.
    compare(last, results_of(*executor_), repeated_tolerance(run_.trainer.precision),
            "those of the same run with checks", verification);
    if (!verification.passed) verification.reason += ", " + when;
    verification.outputs = verification.checked;
    return verification;
  }

  void checked_run(Verification& verification) {
    const std::size_t count = executor_->graph().nodes.size();
    const std::uint64_t seed = seed_of(0) + static_cast<std::uint64_t>(++checks_) * 65537;
    std::mt19937_64 random(seed);
    std::set<std::size_t> checked{count - 1};  // the loss
    while (checked.size() < std::min(nodes_of_pass + 1, count)) checked.insert(random() % count);
    executor_->poison();
    for (std::size_t i = 0; i < count; ++i) {
      if (checked.contains(i))
        run_checked(*executor_, i, budget_of_node, seed + i, verification);
      else
        executor_->run_node(i);
    }
  }

  InferenceRun run_;
  std::unique_ptr<Executor> executor_;
  Plugins& plugins_;
  Communicator& ranks_;
  MemoryUse memory_;
  double peak_memory_ = 0;
  std::map<std::string, double> seconds_;
  std::vector<std::size_t> images_;  ///< that expected_ is of
  Results expected_;
  WorkCount work_count_;
  bool other_images_ = false;
  double mean_loss_ = 0;
  std::vector<LayerTime> layers_;
  int checks_ = 0, draws_ = 0;
};

using Memory = std::map<ValueIndex, std::shared_ptr<void>>;  // as ExecutorSettings::memory

/// Parameters and statistics of a network that is trained.
Result<Memory> learnt(TrainerSettings settings, Plugins& plugins) {
  settings.batch = parity_batch(settings.network);
  settings.executor.measured = false;
  settings.learning.last_norm = parity_last_norm;
  const auto alone = serial_communicator();
  auto trainer = Trainer::make(settings, plugins, *alone);
  if (auto* refusal = std::get_if<Unsupported>(&trainer)) return std::move(*refusal);
  Executor& executor = std::get<std::unique_ptr<Trainer>>(trainer)->executor();
  load_random(executor, settings.seed);
  executor.run(Phase::forward);
  executor.device().stream().wait();
  const Graph& graph = executor.graph();
  Memory memory;
  for (const ValueIndex value : {graph.weights, graph.stored, graph.batch_statistics})
    if (value != Graph::none) memory[value] = executor.memory(value);
  return memory;
}

}  // namespace

Result<std::unique_ptr<Workload>> inference_workload(const InferenceRun& run, Plugins& plugins,
                                                     Communicator& ranks) {
  std::map<std::string, double> seconds{{"create", run.create_seconds}};
  ExecutorSettings settings = run.trainer.executor;
  const MemoryUse memory_use(settings, plugins);
  auto start = Clock::now();
  auto memory = made_on_all<Memory>(ranks, [&] { return learnt(run.trainer, plugins); });
  if (auto* refusal = std::get_if<Unsupported>(&memory)) return std::move(*refusal);
  settings.memory = std::get<Memory>(memory);
  seconds["fill"] = seconds_since(start);
  start = Clock::now();
  auto executor =
      Executor::make(inference_graph(run.trainer.network, run.trainer.batch, run.trainer.precision),
                     settings, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&executor)) return std::move(*refusal);
  if (std::string why = std::get<std::unique_ptr<Executor>>(executor)->why_unused(); !why.empty())
    return Unsupported{std::move(why)};
  seconds["allocate"] = seconds_since(start);
  return std::make_unique<InferenceWorkload>(
      run, std::move(std::get<std::unique_ptr<Executor>>(executor)), plugins, ranks, memory_use,
      std::move(seconds));
}

}  // namespace assay
