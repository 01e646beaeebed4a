#include "models/parallel/gradient_pass.hpp"

#include <fmt/format.h>

#include <numeric>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/servers_part.hpp"

namespace assay {

GradientPass::GradientPass(const WayParts& parts)
    : parts_(parts), batches_(parts.run, parts.ranks) {}

Executor& GradientPass::executor_of(std::int64_t worker) {
  Executor& own = parts_.whole.executor();
  const Graph& graph = own.graph();
  if (worker == parts_.ranks.rank() || graph.passes == Graph::none) return own;
  std::unique_ptr<Executor>& other = of_others_[worker];
  if (other) return *other;
  const TrainerSettings& of = parts_.whole.settings();
  Graph made = gradient_graph(of.network, of.batch, of.precision, of.learning,
                              {of.seed, static_cast<int>(worker)});
  ExecutorSettings settings = of.executor;
  settings.measured = false;
  settings.chosen = own.chosen();
  settings.chosen.resize(made.nodes.size());  // without the update
  settings.memory = {{made.weights, own.memory(graph.weights)}};
  if (made.stored != Graph::none) settings.memory[made.stored] = own.memory(graph.stored);
  const std::unique_ptr<Communicator> alone = serial_communicator();
  auto executor = Executor::make(std::move(made), settings, parts_.plugins, *alone);
  if (const auto* const refusal = std::get_if<Unsupported>(&executor))
    throw CaseError("nothing makes the gradients of another worker: " + refusal->reason);
  other = std::move(std::get<std::unique_ptr<Executor>>(executor));
  return *other;
}

double GradientPass::run(const PassSettings& of, const std::function<void()>& progress,
                         StepCheck* check) {
  Executor& executor = executor_of(of.worker);
  const Graph& graph = executor.graph();
  Device& device = executor.device();
  const Batch& batch = batches_.at(of.epoch, of.batch);
  put_batch(executor, batch.images, batch.labels);
  device.fill(executor.tensor(graph.loss_scale), of.loss_scale);
  // Each batch of the training has masks of its own.
  if (graph.passes != Graph::none)
    device.fill(executor.tensor(graph.passes),
                static_cast<double>(of.epoch * batches_.count() + of.batch));
  std::int64_t runs = 0, nodes = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].phase != Phase::forward && graph.nodes[i].phase != Phase::backward) continue;
    const std::int64_t before = executor.runs(i);
    if (check != nullptr && check->nodes.contains(i))
      run_checked(executor, i, budget_of_node, check->seed + i, check->found);
    else
      executor.run_node(i);
    runs += executor.runs(i) - before;
    ++nodes;
    if (progress) progress();
  }
  if (check == nullptr && runs == nodes) ++runs_;
  const std::vector<double> losses = read_values(executor, graph.losses);
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

Buffer GradientPass::gradients(std::int64_t worker) {
  const Executor& executor = executor_of(worker);
  const Graph& graph = executor.graph();
  return {executor.memory(graph.batch_gradients).get(), graph.elements(graph.batch_gradients),
          graph.value(graph.batch_gradients).type};
}

Buffer GradientPass::weights() {
  const Executor& executor = parts_.whole.executor();
  const Graph& graph = executor.graph();
  return {executor.memory(graph.weights).get(), graph.elements(graph.weights),
          graph.value(graph.weights).type};
}

void GradientPass::store() {
  Executor& executor = parts_.whole.executor();
  const Graph& graph = executor.graph();
  if (graph.stored == Graph::none) return;
  const auto* const wide = static_cast<const float*>(weights().data);
  executor.device().put(executor.tensor(graph.stored),
                        [wide](std::int64_t first, std::span<double> out) {
                          for (std::size_t i = 0; i < out.size(); ++i)
                            out[i] = wide[static_cast<std::size_t>(first) + i];
                        });
}

void GradientPass::average_statistics() {
  const Executor& executor = parts_.whole.executor();
  average(executor.graph(), statistics_momentum,
          read_values(executor, executor.graph().batch_statistics),
          parts_.whole.running_statistics());
}

std::string why_other_bits(const WayParts& parts) {
  std::uint64_t own = 0;
  throw_on_all(parts.ranks, [&] {
    GradientPass pass(parts);
    pass.run({});
    const Buffer made = pass.gradients(0);
    own = checksum(made.data, made.bytes());
    parts.whole.initialise();  // its loss scale and statistics were the pass's
  });
  const std::vector<std::string> sums = parts.ranks.allgather(std::to_string(own));
  for (std::size_t rank = 1; rank < sums.size(); ++rank)
    if (sums[rank] != sums[0])
      return fmt::format(
          "--parallel {}: rank {} computes other bits than rank 0 of the same batch, since their "
          "processors or libraries differ: no rank can make the steps of all again. Use equal "
          "hosts "
          "and settings for all ranks.",
          to_text(parts.run.parallel), rank);
  return "";
}

}  // namespace assay
