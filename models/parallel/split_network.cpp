#include "models/parallel/split_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/rank_failure.hpp"
#include "core/measure/run_case.hpp"
#include "models/network/node_check.hpp"
#include "models/network/parameters.hpp"
#include "models/ranks.hpp"

namespace assay {
namespace {

using SplitClock = std::chrono::steady_clock;

}  // namespace

SplitNetwork::SplitNetwork(const Graph& graph, const ExecutorSettings& settings, Plugins& plugins,
                           Communicator& ranks, Communicator& adding)
    : ranks_(ranks), adding_(adding) {
  using Made = std::unique_ptr<Executor>;
  Result<Made> made = made_on_all<Made>(ranks, [&] {
    const auto alone = serial_communicator();
    return Executor::make(graph, settings, plugins, *alone);
  });
  if (const auto* const refusal = std::get_if<Unsupported>(&made))
    throw UnsupportedCase(refusal->reason);
  executor_ = std::move(std::get<Made>(made));
  for (const GraphNode& node : graph.nodes) {
    if (node.summed == Graph::none) continue;
    const Call call = call_of(node.summed);
    if (const std::string why = adding.why_not(call); !why.empty())
      throw UnsupportedCase("the ranks cannot add the sums of " + node.text() + ": " + why);
    adding.prepare(call);
  }
  if (graph.gradients != Graph::none) {  // and what lies between parameters
    executor_->clear(graph.gradients);
    executor_->clear(graph.batch_gradients);
  }
}

Call SplitNetwork::call_of(ValueIndex value) const {
  const Buffer all{executor_->memory(value).get(), graph().elements(value),
                   graph().value(value).type};
  return {Collective::allreduce, all, all, ReduceOp::sum, 0};
}

void SplitNetwork::put_number(ValueIndex value, double number) {
  if (value != Graph::none) executor_->device().fill(executor_->tensor(value), number);
}

void SplitNetwork::run(Phase phase, SplitCheck* check) {
  for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
    const GraphNode& node = graph().nodes[i];
    if (node.phase != phase) continue;
    if (check != nullptr && check->nodes.contains(i))
      run_checked(*executor_, i, budget_of_node, check->seed + i, check->found);
    else
      executor_->run_node(i);
    if (node.summed != Graph::none) add(node, check);
  }
}

/// With a check, compares the sum with that of the ranks' own terms in fp64.
void SplitNetwork::add(const GraphNode& node, SplitCheck* check) {
  Stream& stream = executor_->device().stream();
  stream.wait();
  std::vector<double> terms;
  if (check != nullptr) terms = read_values(*executor_, node.summed);
  const auto begun = SplitClock::now();
  adding_.run(call_of(node.summed), stream);
  stream.wait();
  seconds_ += seconds_since(begun);
  if (check == nullptr) return;
  std::vector<double> magnitudes = terms;
  for (double& value : magnitudes) value = std::fabs(value);
  RankCalls calls(ranks_);
  calls.sum(terms);
  calls.sum(magnitudes);
  const std::vector<double> sums = read_values(*executor_, node.summed);
  const double u = unit_roundoff(graph().value(node.summed).type) * ranks_.size();
  check->found.checked += std::ssize(sums);
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (!(std::fabs(sums[i] - terms[i]) <= u * magnitudes[i])) {
      ++check->found.wrong_elements;
      check->found.fail(fmt::format(
          "element {} of the sum of {} over the ranks is {} (expected {} within {:.2g})", i,
          node.text(), sums[i], terms[i], u * magnitudes[i]));
    }
}

Executed SplitNetwork::executed_sum() const {
  Executed executed;
  for (const GraphNode& node : graph().nodes)
    if (node.summed != Graph::none) {
      adding_.describe(call_of(node.summed), executed);
      break;
    }
  return executed;
}

double SplitNetwork::summed_bytes() const {
  double bytes = 0;
  for (const GraphNode& node : graph().nodes)
    if (node.summed != Graph::none) bytes += static_cast<double>(call_of(node.summed).send.bytes());
  return bytes;
}

double SplitNetwork::measure_sums() {
  constexpr int rounds = 9;
  double all = 0;
  for (const GraphNode& node : graph().nodes) {
    if (node.summed == Graph::none) continue;
    put_number(node.summed, 0);
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
      ranks_.barrier();
      const auto begun = SplitClock::now();
      adding_.run(call_of(node.summed), executor_->device().stream());
      seconds.push_back(seconds_since(begun));
    }
    all += median(seconds);
  }
  ranks_.allreduce_max(std::span(&all, 1));
  return all;
}

}  // namespace assay
