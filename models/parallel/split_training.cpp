#include "models/parallel/split_training.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/measure/rank_failure.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/servers_part.hpp"

namespace assay {
namespace {

Graph make_graph(const WayParts& parts) {
  const TrainerSettings& settings = parts.run.trainer;
  return split_step(settings.network, settings.batch, settings.precision, settings.learning,
                    static_cast<int>(parts.run.parallel.number), settings.accumulate > 1,
                    {settings.seed, 0});
}

/// For each node of the part, the backend of the undivided network, but not its algorithm, which
/// may not fit the part.
ExecutorSettings make_settings(const WayParts& parts) {
  ExecutorSettings executor_settings = parts.run.trainer.executor;
  executor_settings.measured = false;
  for (const Choice& choice : parts.whole.executor().list_chosen())
    executor_settings.chosen.push_back({choice.backend, ""});
  return executor_settings;
}

}  // namespace

SplitTraining::SplitTraining(const WayParts& parts, const Grid& grid)
    : parts_(parts),
      grid_(grid),
      network_(make_graph(parts), make_settings(parts), parts.plugins, grid.group(),
               parts.run.gradients ? *parts.run.gradients : grid.group(),
               parts.run.trainer.sums_on_device),
      replicas_(grid, parts.run.trainer.accumulate),
      update_(parts.run.trainer.loss_scale, parts.ranks),
      batches_(parts.run, parts.ranks, replicas_.passes_of_all()),
      passes_(parts.run.trainer.accumulate) {
  replicas_.prepare(network_.executor());
}

void SplitTraining::begin() {
  Executor& executor = network_.executor();
  const Graph& graph = network_.graph();
  const PartsOfParameters own(parts_.whole.graph(), graph, grid_.group().rank(),
                              executor.filters_last());
  StageState state = read_state(executor, {});
  const StageState whole = read_state(parts_.whole.executor(), {});
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    const ValueIndex value = graph.*stage_values()[i];
    if (value == graph.velocity || value == graph.second)
      std::ranges::fill(state.values[i], std::byte{0});
    else if (value != Graph::none)
      own.take(whole.values[i], state.values[i], size_of_element(value));
  }
  put_state(state, executor);
  running_ = initial_statistics(graph);
  own.take_statistics(parts_.whole.running_statistics(), running_);
  update_.begin(executor);
  forget_runs();
}

double SplitTraining::make(const Step& step, SplitCheck* check) {
  const Graph& graph = network_.graph();
  Executor& executor = network_.executor();
  if (graph.accumulates()) executor.clear(graph.gradients);
  network_.begin_step();
  if (step.judged) sample_sums_.clear();
  replicas_.begin(running_);
  double losses = 0;
  for (std::int64_t pass = 0; pass < passes_; ++pass) {
    const Batch& loaded = batch(step, replicas_.pass(0, pass));
    put_batch(executor, loaded.images, loaded.labels);
    if (step.judged) sample_sums_.push_back(checksum_samples(loaded));
    network_.put_number(graph.passes, static_cast<double>(replicas_.pass(update_.steps(), pass)));
    const bool checked = check != nullptr && check->seed % static_cast<std::uint64_t>(passes_) ==
                                                 static_cast<std::uint64_t>(pass);
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::accumulate})
      network_.run(phase, checked ? check : nullptr);
    average(graph, statistics_momentum, read_values(executor, graph.batch_statistics), running_);
    const std::vector<double> of_batch = read_values(executor, graph.losses);
    losses += std::accumulate(of_batch.begin(), of_batch.end(), 0.0) /
              static_cast<double>(of_batch.size());
  }
  if (check != nullptr) own_gradients_ = read_values(executor, graph.gradients);
  replicas_.run(executor, running_);
  update_.run(executor, step.rate, replicas_.passes_of_all(),
              [&] { network_.run(Phase::update, check); });
  return losses / static_cast<double>(passes_);
}

std::uint64_t SplitTraining::checksum_samples(const Batch& batch) {
  const std::uint64_t sums[] = {
      checksum(batch.images.data(), batch.images.size() * sizeof batch.images[0]),
      checksum(batch.labels.data(), batch.labels.size() * sizeof batch.labels[0])};
  return checksum(sums, sizeof sums);
}

void SplitTraining::count(double loss, StepTotals& steps) {
  const std::vector<GraphNode>&nodes = network_.graph().nodes, &whole = parts_.whole.graph().nodes;
  const bool first = grid_.group().rank() == 0;
  runs_.resize(nodes.size());
  std::int64_t passes = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::int64_t runs = network_.executor().runs(i) - runs_[i];
    runs_[i] += runs;
    if (nodes[i].phase != Phase::update) passes = std::min(passes, runs);
    if (nodes[i].phase == Phase::update && runs == 0) passes = 0;  // the update did not run
    const double flops = nodes[i].problem->flops();
    if (first || flops < whole[i].problem->flops())
      steps.flops += static_cast<double>(runs) * flops;
  }
  double least = -static_cast<double>(passes);
  parts_.ranks.allreduce_max(std::span(&least, 1));
  if (!first) return;
  steps.images += -least * static_cast<double>(parts_.run.trainer.batch);
  steps.losses += loss * -least;
  steps.batches += -least;
}

void SplitTraining::forget_runs() {
  runs_.resize(network_.graph().nodes.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i] = network_.executor().runs(i);
}

SplitState SplitTraining::state() const {
  return {read_state(network_.executor(), running_), update_.state()};
}

void SplitTraining::restore(const SplitState& state) {
  put_state(state.values, network_.executor());
  running_ = state.values.running;
  update_.restore(state.scale, network_.executor());
}

StageState SplitTraining::gather(const StageState& own) const {
  const Graph& graph = network_.graph();
  Communicator& ranks = grid_.group();
  StageState all = read_state(parts_.whole.executor(), parts_.whole.running_statistics());
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const PartsOfParameters parts(parts_.whole.graph(), graph, rank,
                                  network_.executor().filters_last());
    for (std::size_t i = 0; i < stage_values().size(); ++i) {
      const ValueIndex value = graph.*stage_values()[i];
      if (value == Graph::none) continue;
      std::vector<std::byte> bytes = own.values[i];
      broadcast_bytes(bytes, rank, ranks);
      parts.place(bytes, all.values[i], size_of_element(value));
    }
    std::vector<double> running = own.running;
    broadcast_bytes(std::as_writable_bytes(std::span(running)), rank, ranks);
    parts.place_statistics(running, all.running);
  }
  return all;
}

}  // namespace assay
