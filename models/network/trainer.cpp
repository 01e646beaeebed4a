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

/// Largest loss scale while candidates are compared: if gradients overflow, no result proves
/// anything. 1024 was too large for planes of very few pixels, whose channels may have variances
/// near 0.
constexpr double scale_of_choosing = 8;

/// A step puts only a few numbers, and waits for all of them before it ends.
constexpr std::size_t numbers_under_way = 16;

/// True if the transport that sums the gradients cannot read the memory of the gradients.
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
      make_training_graph(settings.network, settings.batch, settings.precision, settings.learning,
                          settings.accumulate > 1, settings.lag > 0, {settings.seed, ranks.rank()});
  ExecutorSettings executor_settings = settings.executor;
  if (ranks.size() > 1 && executor_settings.device == "cpu") {
    const std::size_t bytes = static_cast<std::size_t>(graph.elements(graph.gradients)) *
                              size_of(graph.value(graph.gradients).type);
    for (const ValueIndex value : {graph.gradients, graph.lagged})
      if (value != Graph::none)
        if (auto memory = (gradients ? *gradients : ranks).allocate(bytes))
          executor_settings.memory[value] = std::move(memory);
  }
  auto made_executor = Executor::make(std::move(graph), executor_settings, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&made_executor)) return std::move(*refusal);
  auto& executor = std::get<std::unique_ptr<Executor>>(made_executor);
  if (is_staged(settings, ranks)) {
    Device& device = executor->device();
    gradients = gradients ? make_staged(std::move(gradients), device) : make_staged(ranks, device);
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
  // Memory of the ranks still has the content of its last user, but the gaps between parameters
  // must be 0.
  const auto clear = [this](ValueIndex value) { device().fill(executor_->tensor(value), 0); };
  clear(graph().gradients);
  if (graph().lags()) clear(graph().lagged);
  if (graph().accumulates()) clear(graph().batch_gradients);
  why_waits_ =
      settings_.accumulate > 1 ? "the host adds up the losses and statistics of a step's passes"
      : graph().lags() ? "with a lag the host keeps some gradients of each step, to check their sum"
                       : exchange_->why_waits();
  batch_statistics_.resize(static_cast<std::size_t>(graph().elements(graph().batch_statistics)));
  numbers_ = device().host_memory(numbers_under_way * sizeof(double));
  const auto counts = static_cast<std::size_t>(graph().elements(graph().counts));
  results_ = device().host_memory((counts + batch_statistics_.size()) * sizeof(double));
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

void Trainer::put_number(ValueIndex value, double number) {
  Tensor& tensor = executor_->tensor(value);
  double& place = static_cast<double*>(numbers_.get())[next_number_++ % numbers_under_way];
  encode(tensor.spec().type, std::span(&number, 1), &place);
  device().copy(tensor.data(), &place, size_of(tensor.spec().type));
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

Execution Trainer::sum_execution() const { return exchange_->execution(); }

void Trainer::run_node(std::size_t node, StepCheck* check) {
  if (check != nullptr && check->nodes.contains(node))
    run_checked(*executor_, node, budget_of_node, check->seed + node, check->verification);
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

bool Trainer::has_overflowed() {
  const bool dynamic = settings_.loss_scale.kind == LossScaleSettings::Kind::dynamic;
  exhausted_ = dynamic && loss_scale_.has_diverged();
  if (lowered_ || !graph().lags() || !dynamic) return lowered_;
  exchange_->finish();
  const std::vector<double> waiting = numbers(graph().lagged);
  double overflowed =
      std::all_of(waiting.begin(), waiting.end(), [](double v) { return std::isfinite(v); }) ? 0
                                                                                             : 1;
  ranks_.allreduce_max(std::span(&overflowed, 1));
  const bool least = waiting_scale_ <= least_loss_scale;
  exhausted_ = exhausted_ || (overflowed > 0 && least);
  return overflowed > 0 && !least;
}

std::vector<ValueIndex> Trainer::state_values() const {
  std::vector<ValueIndex> all{graph().velocity, graph().weights};
  if (graph().stored != Graph::none) all.push_back(graph().stored);
  if (graph().lags()) all.push_back(graph().lagged);
  if (graph().second != Graph::none) all.push_back(graph().second);
  return all;
}

void Trainer::save(State& state) {
  expect_ended();
  exchange_->finish();
  state.values.clear();
  for (const ValueIndex value : state_values())
    state.values.push_back(read_bytes(*executor_, value));
  state.running = running_;
  state.loss_scale = loss_scale_.state();
  state.waiting_scale = waiting_scale_;
  state.own = exchange_->own_before();
}

void Trainer::swap_state(State& state) {
  expect_ended();
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
