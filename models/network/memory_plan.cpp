#include "models/network/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace assay {

MemoryPlan plan_memory(const std::vector<Lifetime>& tensors) {
  constexpr std::size_t line = plan_alignment;
  MemoryPlan plan{std::vector<std::size_t>(tensors.size()), 0};
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].bytes > tensors[b].bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    const std::size_t bytes = (tensors[i].bytes + line - 1) / line * line;
    std::size_t at = 0;
    for (const std::size_t other : placed) {
      if (tensors[other].last < tensors[i].first || tensors[other].first > tensors[i].last)
        continue;
      if (at + bytes <= plan.offsets[other]) break;
      at = std::max(at, plan.offsets[other] + (tensors[other].bytes + line - 1) / line * line);
    }
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at,
                                   [&](std::size_t value, std::size_t other) {
                                     return value < plan.offsets[other];
                                   }),
                  i);
  }
  return plan;
}

}  // namespace assay
