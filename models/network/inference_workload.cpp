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
#include "core/program/benchmark.hpp"
#include "core/program/rank_locations.hpp"
#include "models/network/memory_use.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/network/repeats.hpp"
#include "models/network/step_numbers.hpp"
#include "models/network/tolerance.hpp"
#include "models/network/work_count.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// Number of nodes of a checked pass that are compared with their oracles, besides the loss.
constexpr std::size_t nodes_of_pass = 6;
/// Compared with fp64.
constexpr std::int64_t images_of_check = 2;

/// The parts of `images` in a tensor whose first dimension is the image.
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

Results read_results(const Executor& executor) {
  const Graph& graph = executor.graph();
  return {{"logits", read_logits(executor)}, {"losses", read_values(executor, graph.losses)}};
}

void compare(const std::string& name, double relative, std::size_t count, double tolerance,
             const std::string& what, Verification& verification) {
  verification.checked += static_cast<std::int64_t>(count);
  if (relative <= tolerance) return;  // false for NaN
  verification.fail(
      fmt::format("{} differ by {:.3g} of their 2-norm from {} (at most {:.3g} is allowed)", name,
                  relative, what, tolerance));
  verification.wrong_elements += static_cast<std::int64_t>(count);
}

/// Compares the results of `executor` with those of the network in fp64.
void compare_with_fp64(const Executor& executor, const Results& is, const Results& should,
                       double tolerance, Verification& verification) {
  for (std::size_t i = 0; i < should.size(); ++i)
    compare(is[i].first,
            is[i].first == "logits"
                ? difference_of_outputs(is[i].second, should[i].second, executor)
                : relative_difference(is[i].second, should[i].second),
            should[i].second.size(), tolerance, "the network's in fp64", verification);
}

/// The fp64 results for some images of an executor, with its parameters and statistics.
Results results_in_fp64(const Executor& executor, const Network& network,
                        const std::vector<std::size_t>& images, int threads, Plugins& plugins) {
  ExecutorSettings plain;
  plain.backends = dimension::list_backends("reference");
  plain.device = "cpu";
  plain.threads = threads;
  const auto alone = make_serial_communicator();
  auto result = Executor::make(make_inference_graph(network, std::ssize(images), Precision::fp64),
                               plain, plugins, *alone);
  if (const auto* const refusal = std::get_if<Unsupported>(&result))
    throw CaseError("the network cannot be checked: " + refusal->reason);
  Executor& reference = *std::get<std::unique_ptr<Executor>>(result);
  const Graph &from = executor.graph(), &to = reference.graph();
  const auto batch = static_cast<std::size_t>(from.value(from.images).dims[0]);
  for (std::size_t i = 0; i < to.parameters.size(); ++i)
    put_values(reference, to.parameters[i].value, read_values(executor, from.parameters[i].value));
  put_values(reference, to.batch_statistics, read_values(executor, from.batch_statistics));
  for (const auto& [value, source] :
       {std::pair{to.images, from.images}, std::pair{to.labels, from.labels}})
    if (value != Graph::none)
      put_values(reference, value, of_images(read_values(executor, source), batch, images));
  reference.run(Phase::forward);
  return read_results(reference);
}

using Memory = std::map<ValueIndex, std::shared_ptr<void>>;  // as ExecutorSettings::memory

/// Initial parameters of a network, and the statistics of one forward pass in training.
Result<Memory> train_network(const TrainerSettings& settings, Plugins& plugins) {
  Learning learning = settings.learning;
  learning.last_norm = parity_last_norm;
  ExecutorSettings executor_settings = settings.executor;
  executor_settings.measured = false;
  executor_settings.chosen.clear();
  const auto alone = make_serial_communicator();
  auto result = Executor::make(make_gradient_graph(settings.network, parity_batch(settings.network),
                                                   settings.precision, learning, {settings.seed}),
                               executor_settings, plugins, *alone);
  if (auto* refusal = std::get_if<Unsupported>(&result)) return std::move(*refusal);
  Executor& executor = *std::get<std::unique_ptr<Executor>>(result);
  put_initial(executor, settings.seed);
  load_random(executor, settings.seed);
  executor.run(Phase::forward);
  executor.device().stream().wait();
  const Graph& graph = executor.graph();
  Memory memory;
  for (const ValueIndex value : {graph.weights, graph.stored, graph.batch_statistics})
    if (value != Graph::none) memory[value] = executor.memory(value);
  return memory;
}

/// An executor with the parameters and statistics of train_network().
Result<std::unique_ptr<Executor>> make_executor(const TrainerSettings& settings, Plugins& plugins,
                                                Communicator& ranks,
                                                double* fill_seconds = nullptr) {
  const auto start = Clock::now();
  auto memory = make_on_all<Memory>(ranks, [&] { return train_network(settings, plugins); });
  if (auto* refusal = std::get_if<Unsupported>(&memory)) return std::move(*refusal);
  if (fill_seconds != nullptr) *fill_seconds = seconds_since(start);
  ExecutorSettings executor_settings = settings.executor;
  executor_settings.memory = std::get<Memory>(memory);
  return Executor::make(make_inference_graph(settings.network, settings.batch, settings.precision),
                        executor_settings, plugins, ranks);
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
    load_random(*executor_, make_seed(0));
    executor_->measure(ranks_);
    seconds_["choose_backends"] = seconds_since(start);
  }

  Stream& stream() override { return executor_->device().stream(); }
  Device* device() override { return &executor_->device(); }
  bool batchable() const override { return run_.steps == 0; }
  int samples() const override { return run_.steps; }
  void reset() override {}
  void run(Stream&) override { executor_->run(Phase::forward); }

  void begin_audit(Audit kind) override {
    other_images_ = kind == Audit::new_inputs;
    if (other_images_)
      load_random(*executor_, make_seed(++draws_));
    else
      executor_->poison();
  }

  Verification end_audit() override {
    const Verification verification = judge_last_run("in the timed phase");
    if (other_images_) {
      load_random(*executor_, make_seed(0));
      executor_->run(Phase::forward);  // so that the results belong to these images
    }
    other_images_ = false;
    return verification;
  }

  Verification verify_before() override {
    const auto start = Clock::now();
    peak_memory_ = memory_.measure_peak(
        [this] {
          executor_->poison();  // touches all of it
          executor_->run(Phase::forward);
          stream().wait();
        },
        executor_->bytes(), ranks_);
    Verification of_form;
    of_form.passed = true;
    throw_on_all(ranks_, [&, limits = limits_here()] { make_expected(limits, of_form); });
    executor_->poison();
    executor_->run(Phase::forward);
    Verification verification = judge_last_run("before timing");
    verification.checked += of_form.checked;
    verification.wrong_elements += of_form.wrong_elements;
    verification.fail(of_form.reason);
    verification.reference = reference_;
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

  Execution execution() const override { return make_executed(*executor_, run_.trainer); }
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
    if (spread_ > 0) all["difference_of_equal_runs"] = {spread_, "", ""};
    return all;
  }
  std::vector<LayerTime> layers() const override { return layers_; }

 private:
  std::uint64_t make_seed(int draw) const {
    return run_.trainer.seed + static_cast<std::uint64_t>(draw) * 1000003 +
           static_cast<std::uint64_t>(ranks_.rank()) * 7919;
  }

  ParityLimits limits_here() const {
    ParityLimits limits;
    limits.bytes /= ranks_here(ranks_);
    return limits;
  }

  /// Computes logits and losses of random images in fp64, with the parameters and statistics of the
  /// timed network. If the network is too large, compares those of a smaller form immediately.
  void make_expected(const ParityLimits& limits, Verification& of_form) {
    const auto images = [&](const Network&) {
      return std::min(images_of_check, run_.trainer.batch);
    };
    const ParityForm form =
        parity_form(run_.trainer.network, images, make_inference_graph, std::nullopt, limits);
    reference_ = fmt::format(
        "{} in fp64 on {} image{}: logits and losses; {} operations of "
        "checked runs in fp64",
        form.text(), form.images, form.images == 1 ? "" : "s", nodes_of_pass + 1);
    if (!form.whole()) return compare_form(form, of_form);
    const auto batch = static_cast<std::size_t>(run_.trainer.batch);
    std::set<std::size_t> chosen;
    std::mt19937_64 random(make_seed(0));
    while (std::ssize(chosen) < form.images) chosen.insert(random() % batch);
    images_.assign(chosen.begin(), chosen.end());
    expected_ = results_in_fp64(*executor_, run_.trainer.network, images_,
                                run_.trainer.executor.threads, plugins_);
  }

  void compare_form(const ParityForm& form, Verification& verification) {
    TrainerSettings settings = run_.trainer;
    settings.network = form.network;
    settings.batch = form.images;
    settings.executor.measured = false;
    settings.executor.memory.clear();
    const auto alone = make_serial_communicator();
    settings.executor.chosen = executor_->list_chosen();
    auto result = make_executor(settings, plugins_, *alone);
    if (std::holds_alternative<Unsupported>(result)) {  // the choice was for the whole network
      settings.executor.chosen.clear();
      result = make_executor(settings, plugins_, *alone);
    }
    if (const auto* const refusal = std::get_if<Unsupported>(&result))
      throw CaseError("the network cannot be checked: " + refusal->reason);
    Executor& executor = *std::get<std::unique_ptr<Executor>>(result);
    load_random(executor, make_seed(0));
    executor.measure(*alone);
    executor.run(Phase::forward);
    std::vector<std::size_t> images(static_cast<std::size_t>(form.images));
    std::iota(images.begin(), images.end(), 0);
    compare_with_fp64(
        executor, read_results(executor),
        results_in_fp64(executor, form.network, images, settings.executor.threads, plugins_),
        tolerance(), verification);
  }

  double tolerance() const {
    return network_tolerance(operand_type(run_.trainer.precision), run_.trainer.network.labels)
        .forward;
  }

  /// Layers are timed in separate passes, because waiting for each operation costs time.
  void time_layers() {
    std::vector<std::vector<double>> runs;
    for (int run = 0; run < timed_runs; ++run) {
      std::vector<double>& seconds = runs.emplace_back(executor_->graph().nodes.size());
      executor_->run_timed(Phase::forward, seconds);
    }
    layers_ = list_layer_times(*executor_, runs, 1, ranks_);
  }

  /// Compares the results of the last run with those in fp64 (if it had the same images), and with
  /// those of a checked run that computes everything again.
  Verification judge_last_run(const std::string& when) {
    Verification verification;
    verification.passed = true;
    const Results last = read_results(*executor_);
    if (!other_images_ && !expected_.empty()) {
      Results some = last;
      for (auto& [name, values] : some)
        values = of_images(values, static_cast<std::size_t>(run_.trainer.batch), images_);
      compare_with_fp64(*executor_, some, expected_, tolerance(), verification);
    }
    const auto as_before = [&](const Trainer::Difference& difference, std::size_t count) {
      compare(difference.what, difference.relative, count, difference.allowed,
              "those of the same run with checks", verification);
    };
    // The scores are recomputed from the same logits: if two logits are nearly equal, their
    // rounding decides the score.
    const std::vector<double> scores = read_scores(*executor_);
    run_checked(*executor_, executor_->graph().nodes.size() - 1, budget_of_node, make_seed(checks_),
                verification);
    as_before({relative_difference(scores, read_scores(*executor_)),
               compute_repeat_tolerance(run_.trainer.precision), "scores"},
              scores.size());
    run_and_check(verification);
    const Results checked = read_results(*executor_);
    std::vector<Trainer::Difference> differences = find_differences(last, checked);
    if (verification.passed && may_spread(run_.trainer.precision, differences))
      spread_ = std::max(spread_, allow_spread(
                                      run_.trainer,
                                      [&](bool every) {
                                        run_and_check(verification, every);
                                        return find_differences(read_results(*executor_), checked);
                                      },
                                      differences));
    for (std::size_t i = 0; i < last.size(); ++i) as_before(differences[i], last[i].second.size());
    if (!verification.passed) verification.reason += ", " + when;
    verification.outputs = verification.checked;
    return verification;
  }

  std::vector<Trainer::Difference> find_differences(const Results& is,
                                                    const Results& should) const {
    std::vector<Trainer::Difference> all;
    for (std::size_t i = 0; i < is.size(); ++i)
      all.push_back({relative_difference(is[i].second, should[i].second),
                     compute_repeat_tolerance(run_.trainer.precision), is[i].first});
    return all;
  }

  /// `every`: compares all operations with their oracles.
  void run_and_check(Verification& verification, bool every = false) {
    const std::size_t count = executor_->graph().nodes.size();
    const std::uint64_t seed = make_seed(0) + static_cast<std::uint64_t>(++checks_) * 65537;
    std::mt19937_64 random(seed);
    std::set<std::size_t> checked{count - 1};  // the loss
    while (checked.size() < std::min(nodes_of_pass + 1, count)) checked.insert(random() % count);
    executor_->poison();
    for (std::size_t i = 0; i < count; ++i) {
      if (every || checked.contains(i))
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
  std::vector<std::size_t> images_;  ///< the images of expected_
  Results expected_;                 ///< empty: a smaller form was compared
  std::string reference_;
  WorkCount work_count_;
  bool other_images_ = false;
  double mean_loss_ = 0;
  double spread_ = 0;  ///< the largest difference between equal runs; 0: none
  std::vector<LayerTime> layers_;
  int checks_ = 0, draws_ = 0;
};

}  // namespace

Result<std::unique_ptr<Workload>> make_inference_workload(const InferenceRun& run, Plugins& plugins,
                                                          Communicator& ranks) {
  std::map<std::string, double> seconds{{"create", run.create_seconds}};
  const MemoryUse memory_use(run.trainer.executor, plugins);
  const auto start = Clock::now();
  auto executor = make_executor(run.trainer, plugins, ranks, &seconds["fill"]);
  if (auto* refusal = std::get_if<Unsupported>(&executor)) return std::move(*refusal);
  if (std::string why = std::get<std::unique_ptr<Executor>>(executor)->why_unused(); !why.empty())
    return Unsupported{std::move(why)};
  seconds["allocate"] = seconds_since(start) - seconds["fill"];
  return std::make_unique<InferenceWorkload>(
      run, std::move(std::get<std::unique_ptr<Executor>>(executor)), plugins, ranks, memory_use,
      std::move(seconds));
}

}  // namespace assay
