#include "models/parallel/pipeline_stage.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/parameters.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int activation_tag = 2, gradient_tag = 3;
constexpr std::size_t steps_of_row = 1 << 16;

/// The values that each slot has separately.
std::set<ValueIndex> values_of_slot(const Stage& stage) {
  const Graph& graph = stage.graph;
  return {graph.images,        graph.labels,       graph.logits,    graph.losses,
          graph.correct,       graph.correlations, graph.confusion, graph.batch_statistics,
          graph.passes,        stage.input,        stage.output,    stage.output_gradient,
          stage.input_gradient};
}

}  // namespace

PipelineStage::PipelineStage(const Stage& stage, const TrainerSettings& settings,
                             PipelineSchedule schedule, const Grid& grid, Communicator& all,
                             Communicator& messages)
    : stage_(stage),
      settings_(settings),
      ranks_(grid.group()),
      messages_(messages),
      passes_(settings.accumulate),
      tasks_(pipeline_tasks(schedule, ranks_.rank(), ranks_.size(), passes_)),
      replicas_(grid, passes_),
      update_(settings.loss_scale, all) {
  slots_.resize(
      static_cast<std::size_t>(pipeline_slots(schedule, ranks_.rank(), ranks_.size(), passes_)));
}

Result<std::unique_ptr<PipelineStage>> PipelineStage::make(
    const Stage& stage, const TrainerSettings& settings, PipelineSchedule schedule,
    Plugins& plugins, const Grid& grid, Communicator& all, Communicator& messages) {
  using OwnedStage = std::unique_ptr<PipelineStage>;
  Result<OwnedStage> result = make_on_all<OwnedStage>(all, [&]() -> Result<OwnedStage> {
    const auto alone = make_serial_communicator();
    OwnedStage own(new PipelineStage(stage, settings, schedule, grid, all, messages));
    const std::set<ValueIndex> of_slot = values_of_slot(stage);
    ExecutorSettings executor_settings = settings.executor;
    for (Slot& slot : own->slots_) {
      auto executor = Executor::make(stage.graph, executor_settings, plugins, *alone);
      if (auto* refusal = std::get_if<Unsupported>(&executor)) return std::move(*refusal);
      slot.executor = std::move(std::get<std::unique_ptr<Executor>>(executor));
      const auto& values = stage.graph.values;
      for (ValueIndex v = 0; v < values.size(); ++v)
        if (values[v].storage == Storage::persistent && !of_slot.contains(v))
          executor_settings.memory[v] = slot.executor->memory(v);
    }
    own->initialise();
    return own;
  });
  return result;
}

void PipelineStage::put_number(Executor& executor, ValueIndex value, double number) const {
  if (value != Graph::none) executor.device().fill(executor.tensor(value), number);
}

void PipelineStage::initialise() {
  Executor& first = executor();
  put_initial(first, settings_.seed);
  running_ = initial_statistics(stage_.graph);
  update_.begin(first);
  first.clear(stage_.graph.gradients);  // also the gaps between parameters
  first.clear(stage_.graph.batch_gradients);
  seconds_ = {};
  for (auto* const each : {&seconds_.forward, &seconds_.backward, &seconds_.passes})
    each->reserve(steps_of_row);  // so that timed steps allocate nothing
}

bool PipelineStage::reads_samples() const {
  return stage_.graph.images != Graph::none || stage_.graph.labels != Graph::none;
}

Buffer PipelineStage::buffer(const Slot& slot, ValueIndex value) const {
  return {slot.executor->memory(value).get(), stage_.graph.elements(value),
          stage_.graph.value(value).type};
}

Request PipelineStage::send(const Slot& slot, ValueIndex value, int to, int tag) {
  if (value == Graph::none) return {};
  return messages_.send(buffer(slot, value), to, tag, slot.executor->device().stream());
}

Request PipelineStage::receive(const Slot& slot, ValueIndex value, int from, int tag) {
  if (value == Graph::none) return {};
  return messages_.receive(buffer(slot, value), from, tag, slot.executor->device().stream());
}

/// Posts the receives of a micro-batch, if its slot is free.
void PipelineStage::expect(std::int64_t pass) {
  if (pass >= passes_) return;
  Slot& slot = find_slot(pass);
  slot.input = receive(slot, stage_.input, ranks_.rank() - 1, activation_tag);
  slot.output_gradient = receive(slot, stage_.output_gradient, ranks_.rank() + 1, gradient_tag);
}

/// Most transports move messages only within their calls. A query about one message moves all.
void PipelineStage::make_progress() {
  for (Slot& slot : slots_)
    for (Request* const request :
         {&slot.output, &slot.input_gradient, &slot.input, &slot.output_gradient})
      if (request->handle != 0) {
        messages_.done(*request);
        return;
      }
}

void PipelineStage::run(Slot& slot, Phase phase) {
  const std::vector<GraphNode>& nodes = stage_.graph.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].phase != phase) continue;
    slot.executor->run_node(i);
    make_progress();
  }
}

void PipelineStage::load(Slot& slot, const Batch& batch) {
  if (stage_.graph.images != Graph::none)
    put_batch(*slot.executor, batch.images, batch.labels);
  else
    put_labels(*slot.executor, batch.labels);
}

void PipelineStage::forward(std::int64_t pass, const Load& load_next) {
  Slot& slot = find_slot(pass);
  messages_.wait(slot.output);  // of an earlier micro-batch
  messages_.wait(slot.input);
  const auto begun = Clock::now();
  if (reads_samples()) load(slot, load_next(pass));
  put_number(*slot.executor, stage_.graph.passes,
             static_cast<double>(replicas_.pass(update_.steps(), pass)));
  run(slot, Phase::forward);
  slot.executor->device().stream().wait();
  slot.output = send(slot, stage_.output, ranks_.rank() + 1, activation_tag);
  forward_ += seconds_since(begun);
}

void PipelineStage::backward(std::int64_t pass) {
  Slot& slot = find_slot(pass);
  messages_.wait(slot.input_gradient);  // of an earlier micro-batch
  messages_.wait(slot.output_gradient);
  const auto begun = Clock::now();
  run(slot, Phase::backward);
  // The sum is in the same memory in all slots.
  run(slots_.front(), Phase::accumulate);
  slot.executor->device().stream().wait();
  slot.input_gradient = send(slot, stage_.input_gradient, ranks_.rank() - 1, gradient_tag);
  average(stage_.graph, statistics_momentum,
          read_values(*slot.executor, stage_.graph.batch_statistics), running_);
  if (stage_.graph.losses != Graph::none) {
    double sum = 0;
    const std::vector<double> losses = read_values(*slot.executor, stage_.graph.losses);
    for (const double loss : losses) sum += loss;
    losses_ += sum / static_cast<double>(losses.size());
  }
  expect(pass + slots());
  backward_ += seconds_since(begun);
}

void PipelineStage::step(double rate, const Load& load_next) {
  losses_ = forward_ = backward_ = 0;
  const auto begun = Clock::now();
  if (stage_.graph.accumulates()) executor().clear(stage_.graph.gradients);
  replicas_.begin(running_);
  for (std::int64_t pass = 0; pass < slots(); ++pass) expect(pass);
  for (const PipelineTask& task : tasks_)
    task.forward ? forward(task.batch, load_next) : backward(task.batch);
  for (Slot& slot : slots_) {
    messages_.wait(slot.output);
    messages_.wait(slot.input_gradient);
  }
  all_ = seconds_since(begun);
  count_runs();
  replicas_.run(executor(), running_);
  update(rate);
  seconds_.forward.push_back(forward_);
  seconds_.backward.push_back(backward_);
  seconds_.passes.push_back(all_);
}

/// The ranks also agree on the number of passes that all have made, and on their seconds.
void PipelineStage::update(double rate) {
  update_.run(executor(), rate, replicas_.passes_of_all(),
              [this] { run(slots_.front(), Phase::update); });
  double worst[] = {-static_cast<double>(whole_passes_), all_};
  ranks_.allreduce_max(worst);
  whole_passes_ = static_cast<std::int64_t>(-worst[0]);
  all_ = worst[1];
}

double PipelineStage::bytes() const {
  std::size_t all = 0;
  for (const Slot& slot : slots_) all += slot.executor->bytes();
  return static_cast<double>(all);
}

/// Counts the runs of the nodes in all slots.
void PipelineStage::count_runs() {
  const std::vector<GraphNode>& nodes = stage_.graph.nodes;
  runs_.resize(nodes.size());
  whole_passes_ = passes_ + 1;
  flops_ = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::int64_t runs = 0;
    for (const Slot& slot : slots_) runs += slot.executor->runs(i);
    const std::int64_t now = runs - std::exchange(runs_[i], runs);
    flops_ += static_cast<double>(now) * nodes[i].problem->flops();
    if (nodes[i].phase != Phase::update) whole_passes_ = std::min(whole_passes_, now);
  }
}

void PipelineStage::poison() {
  for (Slot& slot : slots_) {
    slot.executor->poison();
    for (const ValueIndex value :
         {stage_.input, stage_.output, stage_.output_gradient, stage_.input_gradient})
      put_number(*slot.executor, value, std::numeric_limits<double>::quiet_NaN());
  }
}

/// Half the time of a message and its answer, which have the sizes of an activation and its
/// gradient. Takes the median of several rounds, one pair of stages after the other.
double PipelineStage::message_seconds() {
  constexpr int rounds = 9;
  const Slot& slot = slots_.front();
  double own = 0;
  for (int after = 1; after < ranks_.size(); ++after) {
    ranks_.barrier();
    const bool answers = ranks_.rank() == after;
    if (!answers && ranks_.rank() != after - 1) continue;
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) {
      const auto begun = Clock::now();
      Request there = answers ? receive(slot, stage_.input, after - 1, activation_tag)
                              : send(slot, stage_.output, after, activation_tag);
      messages_.wait(there);
      Request back = answers ? send(slot, stage_.input_gradient, after - 1, gradient_tag)
                             : receive(slot, stage_.output_gradient, after, gradient_tag);
      messages_.wait(back);
      slot.executor->device().stream().wait();
      all.push_back(seconds_since(begun) / 2);
    }
    std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
    if (answers) own = all[rounds / 2];
  }
  ranks_.barrier();
  return own;
}

}  // namespace assay
