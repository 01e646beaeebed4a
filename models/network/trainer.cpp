#include "models/network/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "comm/layers/staged.hpp"
#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/clock_offset.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

/// Largest loss scale while candidates are compared: where gradients overflow, no result says
/// whether it was computed right. 1024 was too much for planes of so few pixels that a channel's
/// variance may be next to nothing.
constexpr double scale_of_choosing = 8;

/// Whether what sums the gradients cannot read the memory that they are in.
bool is_staged(const TrainerSettings& settings, const Communicator& ranks) {
  return ranks.size() > 1 && settings.executor.device != "cpu" && !settings.sums_on_device;
}

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::make(const TrainerSettings& settings, Plugins& plugins,
                                               Communicator& ranks,
                                               std::shared_ptr<Communicator> gradients) {
  if (settings.control)
    if (std::string why = Control::why_not(ranks); !why.empty()) return Unsupported{std::move(why)};
  Graph graph =
      training_graph(settings.network, settings.batch, settings.precision, settings.learning,
                     settings.accumulate > 1, settings.lag > 0, {settings.seed, ranks.rank()});
  ExecutorSettings of = settings.executor;
  if (ranks.size() > 1 && of.device == "cpu") {
    const std::size_t bytes = static_cast<std::size_t>(graph.elements(graph.gradients)) *
                              size_of(graph.value(graph.gradients).type);
    for (const ValueIndex value : {graph.gradients, graph.lagged})
      if (value != Graph::none)
        if (auto memory = (gradients ? *gradients : ranks).allocate(bytes))
          of.memory[value] = std::move(memory);
  }
  auto made_executor = Executor::make(std::move(graph), of, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&made_executor)) return std::move(*refusal);
  auto& executor = std::get<std::unique_ptr<Executor>>(made_executor);
  if (is_staged(settings, ranks)) {
    Device& device = executor->device();
    gradients = gradients ? staged(std::move(gradients), device) : staged(ranks, device);
  }
  std::unique_ptr<Trainer> trainer(
      new Trainer(settings, std::move(executor), ranks, std::move(gradients)));
  return trainer;
}

Trainer::Trainer(const TrainerSettings& settings, std::unique_ptr<Executor> executor,
                 Communicator& ranks, std::shared_ptr<Communicator> gradients)
    : settings_(settings),
      gradients_(std::move(gradients)),
      executor_(std::move(executor)),
      ranks_(ranks),
      loss_scale_(settings.loss_scale) {
  exchange_ =
      std::make_unique<GradientExchange>(*executor_, ranks_, adding(), settings_.bucket_bytes,
                                         is_staged(settings_, ranks_), settings_.control);
  // The ranks' memory is as its last user left it; what lies between parameters has to be 0.
  put_number(graph().gradients, 0);
  if (graph().lags()) put_number(graph().lagged, 0);
  if (graph().accumulates()) put_number(graph().batch_gradients, 0);
  batch_statistics_.resize(static_cast<std::size_t>(graph().elements(graph().batch_statistics)));
  initialise();
}

void Trainer::initialise() {
  exchange_->finish();
  exchange_->own_before() = {};
  waiting_scale_ = 0;
  put_initial(*executor_, settings_.seed);
  running_ = initial_statistics(graph());
  loss_scale_ = LossScale(settings_.loss_scale);
  lowered_ = updated_ = false;
  put_number(graph().loss_scale, loss_scale_.scale());
}

void Trainer::judge_gradients(bool finite) { judge(finite, loss_scale_.scale()); }

/// Judges gradients that were made with `scale`. MPI does not promise that a sum has equal bits on
/// all ranks, but the next scale, and whether steps are made again, must be equal on all.
void Trainer::judge(bool finite, double scale) {
  if (ranks_.size() > 1) {
    double found[] = {finite ? 0.0 : 1.0, finite ? 1.0 : 0.0};
    arrive();
    ranks_.allreduce_max(found);
    leave();
    if (found[0] + found[1] > 1)
      throw CaseError(
          "the sum of the gradients is finite on some ranks and not on others, so their weights "
          "differ. Use another --allreduce or --allreduce-transport.");
  }
  loss_scale_.update(finite, scale);
  lowered_ = !finite && loss_scale_.scale() < scale;
  put_number(graph().loss_scale, loss_scale_.scale());
}

void Trainer::put_number(ValueIndex value, double number) {
  device().fill(executor_->tensor(value), number);
}

std::vector<double> Trainer::numbers(ValueIndex value) const {
  return read_values(*executor_, value);
}

void Trainer::load(const Source& images, std::span<const std::int64_t> labels) {
  device().put(executor_->tensor(graph().images), images);
  put_labels(*executor_, labels);
}

void Trainer::load(std::span<const float> images, std::span<const std::int64_t> labels) {
  put_batch(*executor_, images, labels);
}

void Trainer::prepare() {
  exchange_->prepare();
  if (!executor_->chooses()) return;
  put_number(graph().loss_scale, std::min(loss_scale_.scale(), scale_of_choosing));
  executor_->measure(ranks_);
  put_number(graph().loss_scale, loss_scale_.scale());
}

Executed Trainer::executed_sum() const { return exchange_->executed(); }

void Trainer::run_node(std::size_t node, StepCheck* check) {
  if (check != nullptr && check->nodes.contains(node))
    run_checked(*executor_, node, budget_of_node, check->seed + node, check->found);
  else if (!node_seconds_.empty())
    node_seconds_[node] += executor_->run_timed(node);
  else
    executor_->run_node(node);
}

void Trainer::make_gradients() {
  executor_->run(Phase::forward);
  executor_->run(Phase::backward);
  device().stream().wait();
}

/// At a collective: the work before it is done, on a device, too (run_pass() has waited for it).
void Trainer::arrive() {
  if (ranks_.size() == 1) return;
  Arrival& arrival = arrivals_.emplace_back();
  arrival.begun = since_;
  arrival.processor = process_seconds() - used_;
  if (arrivals_.size() == 1) arrival.network = seconds_.exposed_communication;
  arrival.at = raw_seconds();
}

void Trainer::leave() {
  if (ranks_.size() == 1) return;
  used_ = process_seconds();
  since_ = raw_seconds();
  arrivals_.back().wait = since_ - arrivals_.back().at;
}

double Trainer::lap() {
  device().stream().wait();
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - lap_).count();
  lap_ = now;
  return seconds;
}

void Trainer::end_of(double& phase) {
  const double communication = exchange_->take_seconds();
  phase += lap() - communication;
  seconds_.exposed_communication += communication;
}

/// `last`: of the last pass, in which the ranks begin to add. Runs the phase as a whole unless
/// something has to happen between its nodes.
void Trainer::run_phase(Phase phase, bool last, StepCheck* check) {
  const bool adds_within = last && phase == Phase::backward && !graph().accumulates();
  const bool whole = check == nullptr && node_seconds_.empty() &&
                     (ranks_.size() == 1 || (!graph().lags() && !adds_within));
  // Alone, a rank has nothing to do between nodes.
  const bool timed = !whole && check == nullptr && ranks_.size() == 1;
  if (whole) executor_->run(phase);
  if (timed) executor_->run_timed(phase, node_seconds_);
  for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
    if (graph().nodes[i].phase != phase) continue;
    if (!whole && !timed) run_node(i, check);
    if (last) exchange_->start_ready(i);
    exchange_->make_progress();
  }
}

/// Steps of the training before this one: those that were judged, and the one whose gradients wait.
std::int64_t Trainer::steps_begun() const {
  return loss_scale_.steps() + (waiting_scale_ > 0 ? 1 : 0);
}

/// Forward and backward pass; within the last one the ranks begin to add.
void Trainer::run_pass(bool last, StepCheck* check) {
  run_phase(Phase::forward, last, check);
  end_of(seconds_.forward);
  run_phase(Phase::backward, last, check);
  run_phase(Phase::accumulate, last, check);
  end_of(seconds_.backward);
}

void Trainer::run_passes(StepCheck* check, const std::function<void()>& load_next) {
  const std::int64_t passes = settings_.accumulate;
  const std::uint64_t checked =
      check == nullptr ? 0 : check->seed % static_cast<std::uint64_t>(passes);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const bool last = pass + 1 == passes;
    if (graph().passes != Graph::none)
      put_number(graph().passes, static_cast<double>(steps_begun() * passes + pass));
    run_pass(last, static_cast<std::uint64_t>(pass) == checked ? check : nullptr);
    if (last) return;
    earlier_losses_ += batch_loss();
    average_statistics();
    seconds_.update += lap();
    if (load_next) load_next();
    lap_ = Clock::now();
  }
}

void Trainer::step(double rate, StepCheck* check, const std::function<void()>& load_next) {
  const bool checks_sum =
      check != nullptr && check->gradient_sum && (ranks_.size() > 1 || graph().lags());
  put_number(graph().rate, rate);
  exchange_->begin(checks_sum ? std::optional(check->seed) : std::nullopt);
  seconds_ = {};
  earlier_losses_ = 0;
  lap_ = Clock::now();
  arrivals_.clear();
  since_ = raw_seconds();
  used_ = process_seconds();
  if (graph().accumulates()) executor_->clear(graph().gradients);
  run_passes(check, load_next);
  arrive();
  exchange_->wait();
  seconds_.exposed_communication += lap();
  exchange_->take_seconds();  // of control messages in wait(), which lap() has
  leave();
  if (checks_sum) exchange_->check(check->found);
  update(check);
  average_statistics();
  seconds_.update += lap();
}

/// By this step's gradients, or, with a lag, by those that wait, in whose place this step's then
/// wait. They are judged by the loss scale that they were made with, which may be another by now.
void Trainer::update(StepCheck* check) {
  const double scale = graph().lags() ? waiting_scale_ : loss_scale_.scale();
  updated_ = scale > 0;
  lowered_ = false;
  if (updated_) {
    put_number(graph().unscale,
               1 / (static_cast<double>(ranks_.size() * settings_.accumulate) * scale));
    const LossScaleState& made = loss_scale_.state();
    if (graph().step != Graph::none)  // skipped updates do not count
      put_number(graph().step, static_cast<double>(made.steps - made.skipped + 1));
    run_phase(Phase::update, false, check);
  }
  if (graph().lags()) waiting_scale_ = loss_scale_.scale();
  exchange_->end();
  if (updated_) judge(counts()[0] == 0, scale);
}

bool Trainer::overflowed() {
  if (lowered_ || !graph().lags() || waiting_scale_ <= least_loss_scale ||
      settings_.loss_scale.kind != LossScaleSettings::Kind::dynamic)
    return lowered_;
  exchange_->finish();
  const std::vector<double> waiting = numbers(graph().lagged);
  double overflowed =
      std::all_of(waiting.begin(), waiting.end(), [](double v) { return std::isfinite(v); }) ? 0
                                                                                             : 1;
  ranks_.allreduce_max(std::span(&overflowed, 1));
  return overflowed > 0;
}

std::vector<double> Trainer::timed_step(double rate) {
  node_seconds_.assign(graph().nodes.size(), 0);
  step(rate);
  return std::exchange(node_seconds_, {});
}

void Trainer::average_statistics() {
  Device& where = device();
  where.stream().wait();
  where.get(executor_->tensor(graph().batch_statistics),
            [this](std::int64_t first, std::span<const double> part) {
              std::copy(part.begin(), part.end(), batch_statistics_.begin() + first);
            });
  average(graph(), statistics_momentum, batch_statistics_, running_);
}

std::vector<ValueIndex> Trainer::state_values() const {
  std::vector<ValueIndex> all{graph().velocity, graph().weights};
  if (graph().stored != Graph::none) all.push_back(graph().stored);
  if (graph().lags()) all.push_back(graph().lagged);
  if (graph().second != Graph::none) all.push_back(graph().second);
  return all;
}

void Trainer::save(State& state) {
  exchange_->finish();
  state.values.clear();
  for (const ValueIndex value : state_values())
    state.values.push_back(read_bytes(*executor_, value));
  state.running = running_;
  state.loss_scale = loss_scale_.state();
  state.waiting_scale = waiting_scale_;
  state.own = exchange_->own_before();
}

void Trainer::exchange(State& state) {
  const bool dynamic = settings_.loss_scale.kind == LossScaleSettings::Kind::dynamic;
  if (state.waiting_scale != 0 &&
      (!graph().lags() || !(dynamic ? is_loss_scale(state.waiting_scale)
                                    : state.waiting_scale == loss_scale_.scale())))
    throw InputError(
        fmt::format("gradients with the loss scale {} wait for their update, as in no run of {} "
                    "with a lag of {}. Give the loss scale of the run that has written them.",
                    state.waiting_scale, to_text(settings_.loss_scale), settings_.lag));
  exchange_->finish();
  device().stream().wait();
  std::vector<std::byte> block(std::size_t{1} << 20);
  std::size_t which = 0;
  for (const ValueIndex value : state_values()) {
    std::vector<std::byte>& kept = state.values[which++];
    auto* const mine = static_cast<std::byte*>(executor_->memory(value).get());
    reorder_filters(*executor_, value, true, kept);
    for (std::size_t at = 0; at < kept.size(); at += block.size()) {
      const std::size_t count = std::min(block.size(), kept.size() - at);
      device().copy(block.data(), mine + at, count);
      device().stream().wait();
      device().copy(mine + at, kept.data() + at, count);
      device().stream().wait();
      std::copy_n(block.begin(), count, kept.begin() + static_cast<std::ptrdiff_t>(at));
    }
    reorder_filters(*executor_, value, false, kept);
  }
  std::swap(running_, state.running);
  const LossScaleState mine = loss_scale_.state();
  loss_scale_.restore(state.loss_scale);
  state.loss_scale = mine;
  put_number(graph().loss_scale, loss_scale_.scale());
  std::swap(waiting_scale_, state.waiting_scale);
  std::swap(exchange_->own_before(), state.own);
}

double Trainer::batch_loss() const {
  double sum = 0;
  const std::vector<double> losses = numbers(graph().losses);
  for (const double loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

double Trainer::loss() const {
  return (earlier_losses_ + batch_loss()) / static_cast<double>(settings_.accumulate);
}

std::vector<double> Trainer::counts() const { return numbers(graph().counts); }

}  // namespace assay
