#pragma once
// Assigns memory to the tensors of a step, so that tensors of different lifetimes share it.

#include <cstddef>
#include <vector>

namespace assay {

/// In bytes: several cache lines, the alignment of a GPU's allocations.
inline constexpr std::size_t plan_alignment = 256;

/// The size of a tensor, and the first and the last node that need it.
struct Lifetime {
  std::size_t bytes = 0, first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< of each tensor, multiples of plan_alignment
  std::size_t bytes = 0;             ///< of all memory
};

/// Plans memory so that tensors with overlapping lifetimes do not share memory. Places the tensors
/// from the largest to the smallest, each at the lowest offset where it fits ("greedy by size": Y.
/// Pisarchyk and J. Lee, Efficient memory management for deep neural net inference,
/// arXiv:2001.03288).
MemoryPlan plan_memory(const std::vector<Lifetime>& tensors);

}  // namespace assay
