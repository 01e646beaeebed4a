#include "models/network/work_count.hpp"

#include <algorithm>
#include <limits>

#include "models/ranks.hpp"

namespace assay {

NetworkWork WorkCount::take(const Executor& executor, Communicator& ranks) {
  const Graph& graph = executor.graph();
  before_.resize(graph.nodes.size());
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::int64_t passes = none, updates = none;
  double flops = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::int64_t runs = executor.runs(i) - before_[i];
    before_[i] = executor.runs(i);
    flops += static_cast<double>(runs) * graph.nodes[i].problem->flops();
    std::int64_t& fewest = graph.nodes[i].phase == Phase::update ? updates : passes;
    fewest = std::min(fewest, runs);
  }
  double counts[] = {
      static_cast<double>(passes) * static_cast<double>(graph.value(graph.images).dims.front()),
      flops, updates == none ? 0 : static_cast<double>(updates)};
  RankCalls(ranks).sum(counts);
  return {counts[0], counts[1], counts[2]};
}

}  // namespace assay
