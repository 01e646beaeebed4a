#include "models/parallel/gradient_pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/measure/rank_failure.hpp"
#include "kernels/dropout/problem.hpp"
#include "models/network/graph_builder.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/parallel/device_memory.hpp"
#include "models/parallel/servers_part.hpp"

namespace assay {
namespace {

bool drops(const GraphNode& node) { return node.problem->kind() == DropoutProblem::kind_name; }

/// The dropout nodes of a network with other masks, in the network's memory and with its backends.
Graph mask_graph(const Executor& executor, const MaskSeed& masks, ExecutorSettings& settings) {
  const Graph& whole = executor.graph();
  Graph graph;
  graph.precision = whole.precision;
  for (std::size_t i = 0; i < whole.nodes.size(); ++i) {
    if (!drops(whole.nodes[i])) continue;
    GraphNode node = whole.nodes[i];
    const auto& problem = dynamic_cast<const DropoutProblem&>(*node.problem);
    DropoutShape shape = problem.shape();
    shape.key = mask_key(node.layer, masks);
    node.problem =
        std::make_shared<const DropoutProblem>(shape, problem.direction(), problem.precision());
    for (auto& [name, value] : node.tensors) {
      GraphValue shared = whole.value(value);
      shared.storage = Storage::persistent;
      settings.memory[graph.values.size()] = executor.memory(value);
      value = graph.values.size();
      graph.values.push_back(std::move(shared));
    }
    graph.nodes.push_back(std::move(node));
    settings.chosen.push_back(executor.choice(i));
  }
  // This choice belongs to no node. Without it, an executor with only a reference would order its
  // tensors differently from the network.
  if (executor.nhwc()) settings.chosen.push_back({});
  return graph;
}

std::size_t first_gradient_node(const Graph& graph) {
  const auto is_gradient = [&](const auto& tensor) {
    const GraphValue& value = graph.values[tensor.second];
    return tensor.second == graph.batch_gradients ||
           (value.storage == Storage::part && value.whole == graph.batch_gradients);
  };
  const auto position = std::ranges::find_if(graph.nodes, [&](const GraphNode& node) {
    return std::ranges::any_of(node.tensors, is_gradient);
  });
  return static_cast<std::size_t>(position - graph.nodes.begin());
}

}  // namespace

GradientPass::GradientPass(const WayParts& parts)
    : parts_(parts),
      batches_(parts.run, parts.ranks),
      first_gradient_(first_gradient_node(parts.whole.graph())) {}

Executor* GradientPass::make_masks(std::int64_t worker) {
  const Executor& own = parts_.whole.executor();
  if (worker == parts_.ranks.rank() || own.graph().passes == Graph::none) return nullptr;
  if (masks_ && worker == masks_worker_) return masks_.get();
  const TrainerSettings& trainer = parts_.whole.settings();
  ExecutorSettings settings = trainer.executor;
  settings.measured = false;
  settings.chosen.clear();
  settings.memory.clear();
  Graph graph = mask_graph(own, {trainer.seed, static_cast<int>(worker)}, settings);
  const std::unique_ptr<Communicator> alone = make_serial_communicator();
  auto executor = Executor::make(std::move(graph), settings, parts_.plugins, *alone);
  if (const auto* const refusal = std::get_if<Unsupported>(&executor))
    throw CaseError("nothing makes the masks of another worker: " + refusal->reason);
  masks_ = std::move(std::get<std::unique_ptr<Executor>>(executor));
  masks_worker_ = worker;
  return masks_.get();
}

double GradientPass::run(const PassSettings& pass, const PassCalls& calls, StepCheck* check) {
  Executor& executor = parts_.whole.executor();
  Executor* const masks = make_masks(pass.worker);
  const Graph& graph = executor.graph();
  Device& device = executor.device();
  // Data that stay in memory are the same in each pass, as in a training on one rank.
  if (const Batch& batch = batches_.at(pass.epoch, pass.batch);
      !is_resident(parts_.run.data.data) || !std::exchange(loaded_, true))
    put_batch(executor, batch.images, batch.labels);
  device.fill(executor.tensor(graph.loss_scale), pass.loss_scale);
  // Each batch of the training has its own masks.
  if (graph.passes != Graph::none)
    device.fill(executor.tensor(graph.passes),
                static_cast<double>(pass.epoch * batches_.count() + pass.batch));
  std::int64_t runs = 0, nodes = 0;
  std::size_t mask = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].phase != Phase::forward && graph.nodes[i].phase != Phase::backward) continue;
    const std::int64_t before = executor.runs(i);
    if (i == first_gradient_ && calls.before_gradients) calls.before_gradients();
    if (check != nullptr && check->nodes.contains(i))
      run_checked(executor, i, budget_of_node, check->seed + i, check->verification);
    else if (masks != nullptr && drops(graph.nodes[i]))
      masks->run_node(mask++);
    else
      executor.run_node(i);
    runs += executor.runs(i) - before;
    ++nodes;
    if (calls.after_node) calls.after_node();
  }
  if (check == nullptr && runs == nodes) ++runs_;
  const std::vector<double> losses = read_values(executor, graph.losses);
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

Buffer GradientPass::gradients() {
  const Executor& executor = parts_.whole.executor();
  return find_memory(executor, executor.graph().batch_gradients);
}

Buffer GradientPass::weights() {
  const Executor& executor = parts_.whole.executor();
  return find_memory(executor, executor.graph().weights);
}

void GradientPass::store() {
  Executor& executor = parts_.whole.executor();
  const Graph& graph = executor.graph();
  if (graph.stored == Graph::none) return;
  Device& device = executor.device();
  std::vector<std::byte> copied;
  if (!is_of_host(device)) copied = read_bytes(device, weights());
  const auto* const wide =
      static_cast<const float*>(copied.empty() ? weights().data : copied.data());
  executor.device().put(executor.tensor(graph.stored),
                        [wide](std::int64_t first, std::span<double> out) {
                          for (std::size_t i = 0; i < out.size(); ++i)
                            out[i] = wide[static_cast<std::size_t>(first) + i];
                        });
}

void GradientPass::average_statistics(std::vector<double>& running) const {
  const Executor& executor = parts_.whole.executor();
  if (running.empty()) return;
  average(executor.graph(), statistics_momentum,
          read_values(executor, executor.graph().batch_statistics), running);
}

namespace {

constexpr int repeated_passes = 3;                    ///< a run may add in equal order by chance
constexpr std::string_view unequal_bits = "unequal";  ///< in place of a checksum

/// The checksum of the gradients of a batch, or `unequal_bits`.
std::string checksum_gradients(GradientPass& pass, Device& device) {
  const auto once = [&] {
    pass.run({});
    const std::vector<std::byte> gradients = read_bytes(device, pass.gradients());
    return std::to_string(checksum(gradients.data(), gradients.size()));
  };
  const std::string first = once();
  for (int i = 0; i < repeated_passes; ++i)
    if (once() != first) return std::string(unequal_bits);
  return first;
}

}  // namespace

std::string why_other_bits(const WayParts& parts, bool replayed) {
  std::string own;
  throw_on_all(parts.ranks, [&] {
    GradientPass pass(parts);
    own = checksum_gradients(pass, parts.whole.device());
    parts.whole.initialise();  // the pass has changed loss scale and statistics
  });
  const std::string way = to_text(parts.run.parallel);
  const std::vector<std::string> sums = parts.ranks.allgather(own);
  for (std::size_t rank = 0; rank < sums.size(); ++rank) {
    if (sums[rank] == unequal_bits && !replayed) return "";
    if (sums[rank] == unequal_bits)
      return fmt::format(
          "--parallel {}: rank {} computes other bits of the same batch when it repeats it, since "
          "an operation adds in no fixed order: its steps cannot be made again. Choose another "
          "--backend, or --parallel sync.",
          way, rank);
    if (sums[rank] != sums[0])
      return fmt::format(
          "--parallel {}: rank {} computes other bits than rank 0 of the same batch, since their "
          "processors or libraries differ: no rank can make the steps of all again. Use equal "
          "hosts and settings for all ranks.",
          way, rank);
  }
  return "";
}

}  // namespace assay
