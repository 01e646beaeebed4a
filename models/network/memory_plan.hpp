#pragma once
// Which tensors of a step share memory.

#include <cstddef>
#include <vector>

namespace assay {

/// A tensor that is needed from one node to another, both included.
struct Lifetime {
  std::size_t bytes = 0, first = 0, last = 0;
};

/// Where each tensor begins in one block of memory, on whole cache lines.
struct MemoryPlan {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

/// No two tensors that are needed at the same node overlap. Largest first, each where it fits
/// lowest (Y. Pisarchyk and J. Lee, Efficient memory management for deep neural net inference,
/// MLSys 2020, greedy by size).
MemoryPlan plan_memory(const std::vector<Lifetime>& tensors);

}  // namespace assay
