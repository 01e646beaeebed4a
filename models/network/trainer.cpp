#include "models/network/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double statistics_momentum = 0.1;  // PyTorch's default
constexpr std::size_t sampled_of_bucket = 64;
constexpr int significand_of_fp16 = 11;

}  // namespace

Result<std::unique_ptr<Trainer>> Trainer::make(const TrainerSettings& settings, Plugins& plugins,
                                               Communicator& ranks,
                                               std::shared_ptr<Communicator> gradients) {
  Graph graph = training_graph(settings.shape, settings.batch, settings.precision,
                               settings.learning, settings.accumulate > 1);
  ExecutorSettings of = settings.executor;
  if (ranks.size() > 1) {
    const std::size_t bytes = static_cast<std::size_t>(graph.elements(graph.gradients)) *
                              size_of(graph.value(graph.gradients).type);
    if (auto memory = (gradients ? *gradients : ranks).allocate(bytes))
      of.memory[graph.gradients] = std::move(memory);
  }
  auto made = Executor::make(std::move(graph), of, plugins, ranks);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
  std::unique_ptr<Trainer> trainer(new Trainer(
      settings, std::move(std::get<std::unique_ptr<Executor>>(made)), ranks, std::move(gradients)));
  return trainer;
}

Trainer::Trainer(const TrainerSettings& settings, std::unique_ptr<Executor> executor,
                 Communicator& ranks, std::shared_ptr<Communicator> gradients)
    : settings_(settings),
      gradients_(std::move(gradients)),
      executor_(std::move(executor)),
      ranks_(ranks),
      loss_scale_(settings.loss_scale) {
  plan_buckets();
  // The ranks' memory is as its last user left it; what lies between parameters has to be 0.
  put_number(graph().gradients, 0);
  if (graph().accumulates()) put_number(graph().batch_gradients, 0);
  batch_statistics_.resize(static_cast<std::size_t>(graph().elements(graph().batch_statistics)));
  initialise();
}

void Trainer::plan_buckets() {
  const Graph& all = graph();
  std::map<ValueIndex, std::size_t> made_by;
  std::size_t added = 0;  // where gradients are accumulated: the node after which all are there
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    if (all.nodes[i].phase == Phase::accumulate) added = i;
    for (const auto& [name, value] : all.nodes[i].tensors)
      if (all.values[value].storage == Storage::part &&
          all.values[value].whole == all.batch_gradients)
        made_by[value] = i;
  }
  const auto least =
      static_cast<std::int64_t>(settings_.bucket_bytes / size_of(all.value(all.gradients).type));
  Bucket bucket;
  bucket.ready = added;
  for (std::size_t i = all.parameters.size(); i-- > 0;) {
    bucket.ready = std::max(bucket.ready, made_by.at(all.parameters[i].gradient));
    const std::int64_t end = i == 0 ? all.elements(all.gradients) : all.parameters[i - 1].offset;
    bucket.count = end - bucket.first;
    if (bucket.count < least && i > 0) continue;
    buckets_.push_back(bucket);
    bucket = {end, 0, bucket.ready, {}};
  }
}

void Trainer::initialise() {
  put_initial(*executor_, settings_.seed);
  running_ = initial_statistics(graph());
  loss_scale_ = LossScale(settings_.loss_scale);
  lowered_ = false;
  put_number(graph().loss_scale, loss_scale_.scale());
}

void Trainer::judge_gradients(bool finite) {
  const double before = loss_scale_.scale();
  loss_scale_.update(finite);
  lowered_ = !finite && loss_scale_.scale() < before;
  put_number(graph().loss_scale, loss_scale_.scale());
}

void Trainer::put_number(ValueIndex value, double number) {
  device().put(executor_->tensor(value), [number](std::int64_t, std::span<double> out) {
    std::fill(out.begin(), out.end(), number);
  });
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

Call Trainer::call_of(const Bucket& bucket) const {
  const GraphValue& value = graph().value(graph().gradients);
  const Buffer all{executor_->memory(graph().gradients).get(), graph().elements(graph().gradients),
                   value.type};
  const Buffer part = all.part(bucket.first, bucket.count);
  return {Collective::allreduce, part, part, ReduceOp::sum, 0};
}

void Trainer::prepare() {
  if (ranks_.size() > 1)
    for (const Bucket& bucket : buckets_) {
      if (const std::string why = adding().why_not(call_of(bucket)); !why.empty())
        throw CaseError("the ranks cannot add gradients: " + why);
      adding().prepare(call_of(bucket));
    }
  if (settings_.executor.measured) executor_->measure(ranks_);
}

void Trainer::sample(const Bucket& bucket, Sampled& to) const {
  std::mt19937_64 random(to.seed + static_cast<std::uint64_t>(bucket.first));
  const std::vector<double> all = read_values(*executor_, graph().gradients);
  for (std::size_t i = 0; i < sampled_of_bucket; ++i) {
    const std::int64_t at = bucket.first + static_cast<std::int64_t>(
                                               random() % static_cast<std::uint64_t>(bucket.count));
    to.at.push_back(at);
    to.sum.push_back(all[static_cast<std::size_t>(at)]);
    to.magnitudes.push_back(std::abs(to.sum.back()));
  }
}

void Trainer::start_ready(std::size_t node, Sampled* sampled) {
  for (Bucket& bucket : buckets_) {
    if (bucket.ready != node) continue;
    if (sampled != nullptr) sample(bucket, *sampled);
    bucket.request = adding().start(call_of(bucket), device().stream());
  }
}

Executed Trainer::executed_sum() const {
  Executed executed;
  if (ranks_.size() > 1) adding().describe(call_of(buckets_.front()), executed);
  return executed;
}

/// What each rank had, added in fp64, is what all have now, up to the roundings of their sum.
void Trainer::check_sum(const Sampled& sampled, StepCheck& check) {
  RankCalls calls(ranks_);
  std::vector<double> sums = sampled.sum;
  sums.insert(sums.end(), sampled.magnitudes.begin(), sampled.magnitudes.end());
  calls.sum(sums);
  const std::vector<double> all = read_values(*executor_, graph().gradients);
  double u = unit_roundoff(graph().value(graph().gradients).type) * ranks_.size(), least = 0;
  // On a narrower wire every contribution, and the sum, are rounded once more.
  if (const auto bits = executed_sum().wire_bits) {
    u += 2 * std::ldexp(1, -*bits);
    if (*bits == significand_of_fp16) least = std::ldexp(1, -25) * (ranks_.size() + 1);
  }
  for (std::size_t i = 0; i < sampled.at.size(); ++i) {
    const double has = all[static_cast<std::size_t>(sampled.at[i])],
                 bound = u * sums[sampled.at.size() + i] + least;
    if (std::abs(has - sums[i]) <= bound) continue;
    ++check.found.wrong_elements;
    if (check.found.passed)
      check.found.reason =
          fmt::format("element {} of the sum of gradients is {} (expected {} within {:.3g})",
                      sampled.at[i], has, sums[i], bound);
    check.found.passed = false;
  }
  check.found.checked += static_cast<std::int64_t>(sampled.at.size());
}

void Trainer::run_node(std::size_t node, StepCheck* check) {
  if (check != nullptr && check->nodes.contains(node))
    run_checked(*executor_, node, check->budget, check->seed + node, check->found);
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

double Trainer::lap() {
  device().stream().wait();
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - lap_).count();
  lap_ = now;
  return seconds;
}

/// Forward and backward pass; after the last one the ranks begin to add.
void Trainer::run_pass(bool last, StepCheck* check, Sampled* sampled) {
  const std::vector<GraphNode>& nodes = graph().nodes;
  std::size_t i = 0;
  for (; nodes[i].phase == Phase::forward; ++i) run_node(i, check);
  seconds_.forward += lap();
  for (; nodes[i].phase != Phase::update; ++i) {
    run_node(i, check);
    if (last && ranks_.size() > 1) start_ready(i, sampled);
  }
  seconds_.backward += lap();
}

void Trainer::step(double rate, StepCheck* check, const std::function<void()>& load_next) {
  const std::int64_t passes = settings_.accumulate;
  put_number(graph().rate, rate);
  put_number(graph().unscale,
             1 / (static_cast<double>(ranks_.size() * passes) * loss_scale_.scale()));
  const std::vector<GraphNode>& nodes = graph().nodes;
  const bool several = ranks_.size() > 1;
  Sampled sampled;
  if (check != nullptr) sampled.seed = check->seed;
  Sampled* const sample_to = check != nullptr && check->gradient_sum ? &sampled : nullptr;
  const std::uint64_t checked =
      check == nullptr ? 0 : check->seed % static_cast<std::uint64_t>(passes);
  seconds_ = {};
  earlier_losses_ = 0;
  lap_ = Clock::now();
  if (graph().accumulates())
    std::memset(executor_->memory(graph().gradients).get(), 0,
                static_cast<std::size_t>(graph().elements(graph().gradients)) *
                    size_of(graph().value(graph().gradients).type));
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    const bool last = pass + 1 == passes;
    run_pass(last, static_cast<std::uint64_t>(pass) == checked ? check : nullptr, sample_to);
    if (last) break;
    earlier_losses_ += batch_loss();
    average_statistics();
    seconds_.update += lap();
    if (load_next) load_next();
    lap_ = Clock::now();
  }
  if (several)
    for (Bucket& bucket : buckets_) adding().wait(bucket.request);
  seconds_.exposed_communication = lap();
  if (sample_to != nullptr && several) check_sum(sampled, *check);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].phase == Phase::update) run_node(i, check);
  average_statistics();
  judge_gradients(counts()[0] == 0);
  seconds_.update += lap();
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
  return all;
}

void Trainer::save(State& state) {
  device().stream().wait();
  state.values.clear();
  for (const ValueIndex value : state_values()) {
    state.values.emplace_back(static_cast<std::size_t>(graph().elements(value)) *
                              size_of(graph().value(value).type));
    device().copy(state.values.back().data(), executor_->memory(value).get(),
                  state.values.back().size());
  }
  device().stream().wait();
  state.running = running_;
  state.loss_scale = loss_scale_.state();
}

void Trainer::exchange(State& state) {
  device().stream().wait();
  std::vector<std::byte> block(std::size_t{1} << 20);
  std::size_t which = 0;
  for (const ValueIndex value : state_values()) {
    std::vector<std::byte>& kept = state.values[which++];
    auto* const mine = static_cast<std::byte*>(executor_->memory(value).get());
    for (std::size_t at = 0; at < kept.size(); at += block.size()) {
      const std::size_t count = std::min(block.size(), kept.size() - at);
      device().copy(block.data(), mine + at, count);
      device().stream().wait();
      device().copy(mine + at, kept.data() + at, count);
      device().stream().wait();
      std::copy_n(block.begin(), count, kept.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  std::swap(running_, state.running);
  const LossScaleState mine = loss_scale_.state();
  loss_scale_.restore(state.loss_scale);
  state.loss_scale = mine;
  put_number(graph().loss_scale, loss_scale_.scale());
}

Trainer::Difference Trainer::difference(const State& state) const {
  const DataType type = graph().value(graph().velocity).type;
  const std::vector<double> now = read_values(*executor_, graph().velocity);
  Difference largest;
  for (const Parameter& parameter : graph().parameters) {
    std::vector<double> then(static_cast<std::size_t>(parameter.elements()));
    decode(type,
           state.values.front().data() + static_cast<std::size_t>(parameter.offset) * size_of(type),
           then);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < then.size(); ++i) {
      const double is = now[static_cast<std::size_t>(parameter.offset) + i];
      error += (is - then[i]) * (is - then[i]);
      norm += is * is;
    }
    const double relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
    if (relative <= largest.relative) continue;  // false for what is no number
    largest = {relative, parameter.name};
  }
  return largest;
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

std::int64_t Trainer::correct() const {
  double sum = 0;
  for (const double one : numbers(graph().correct)) sum += one;
  return static_cast<std::int64_t>(sum);
}

std::vector<double> Trainer::counts() const { return numbers(graph().counts); }

}  // namespace assay
