#include "models/parallel/split_network.hpp"

#include <algorithm>
#include <utility>

#include "core/base/clock.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/measure/run_case.hpp"
#include "models/network/node_check.hpp"

namespace assay {
namespace {

using SplitClock = std::chrono::steady_clock;

}  // namespace

SplitNetwork::SplitNetwork(const Graph& graph, const ExecutorSettings& settings, Plugins& plugins,
                           Communicator& ranks, Communicator& adding, bool on_device)
    : sum_(ranks, adding, on_device) {
  using OwnedExecutor = std::unique_ptr<Executor>;
  Result<OwnedExecutor> result = make_on_all<OwnedExecutor>(ranks, [&] {
    const auto alone = make_serial_communicator();
    return Executor::make(graph, settings, plugins, *alone);
  });
  if (const auto* const refusal = std::get_if<Unsupported>(&result))
    throw UnsupportedCase(refusal->reason);
  executor_ = std::move(std::get<OwnedExecutor>(result));
  for (const GraphNode& node : graph.nodes)
    if (node.summed != Graph::none) sum_.prepare(*executor_, node.summed, "of " + node.text());
  seconds_.before.reserve(static_cast<std::size_t>(sums()));
  if (graph.gradients != Graph::none) {  // also the gaps between parameters
    executor_->clear(graph.gradients);
    executor_->clear(graph.batch_gradients);
  }
}

void SplitNetwork::put_number(ValueIndex value, double number) {
  if (value != Graph::none) executor_->device().fill(executor_->tensor(value), number);
}

void SplitNetwork::begin_step() {
  seconds_.sums = 0;
  seconds_.before.clear();
  last_ = SplitClock::now();
}

void SplitNetwork::run(Phase phase, SplitCheck* check) {
  for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
    const GraphNode& node = graph().nodes[i];
    if (node.phase != phase) continue;
    if (check != nullptr && check->nodes.contains(i))
      run_checked(*executor_, i, budget_of_node, check->seed + i, check->verification);
    else
      executor_->run_node(i);
    if (node.summed == Graph::none) continue;
    executor_->device().stream().wait();
    seconds_.before.push_back(seconds_since(last_));
    const auto begun = SplitClock::now();
    if (check == nullptr)
      sum_.run(*executor_, node.summed);
    else
      sum_.run(*executor_, node.summed, "of " + node.text(), &check->verification);
    last_ = SplitClock::now();
    seconds_.sums += std::chrono::duration<double>(last_ - begun).count();
  }
}

Execution SplitNetwork::sum_execution() const {
  Execution execution;
  const auto node = std::ranges::find_if(
      graph().nodes, [](const GraphNode& each) { return each.summed != Graph::none; });
  if (node != graph().nodes.end())
    sum_.adding().describe(RankSum::call(*executor_, node->summed), execution);
  return execution;
}

std::ptrdiff_t SplitNetwork::sums() const {
  return std::ranges::count_if(graph().nodes,
                               [](const GraphNode& node) { return node.summed != Graph::none; });
}

double SplitNetwork::summed_bytes() const {
  double bytes = 0;
  for (const GraphNode& node : graph().nodes)
    if (node.summed != Graph::none)
      bytes += static_cast<double>(RankSum::call(*executor_, node.summed).send.bytes());
  return bytes;
}

std::vector<double> SplitNetwork::measure_sums() {
  constexpr int passes = 16;
  std::vector<double> all;
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
      const GraphNode& node = graph().nodes[i];
      if (node.phase == Phase::update) continue;
      executor_->run_node(i);
      if (node.summed == Graph::none) continue;
      executor_->device().stream().wait();
      sum_.ranks().barrier();
      const auto begun = SplitClock::now();
      sum_.run(*executor_, node.summed);
      all.push_back(seconds_since(begun));
    }
  return all;
}

}  // namespace assay
