#pragma once
// Which elements of an output are compared with the reference when all would cost too much: where
// implementations go wrong (the first and last of everything, the last partial block), and a random
// rest. Of whatever operation.

#include <cstdint>
#include <vector>

namespace assay::sampling {

/// Coordinates of one dimension of an output at which implementations change what they do: the
/// ends and the middle, and what is added.
class Marks {
 public:
  explicit Marks(std::int64_t extent);
  /// Ignored outside the dimension.
  void add(std::int64_t at);
  /// First element of the last block of `size`, the one before it, and the end of the first block.
  void add_blocks(std::int64_t size);
  /// Sorted, each once.
  std::vector<std::int64_t> take();

 private:
  std::int64_t extent_;
  std::vector<std::int64_t> at_;
};

/// Indices of elements of an output of these extents (row-major), sorted, each once: all of them
/// where that costs at most `budget`, else all corners that fit, every mark of every dimension, and
/// random elements. An element costs `each` multiply-adds, and about as much as 32 more, to find
/// its inputs and to be stored, so that short sums do not make samples of millions. At least 16.
std::vector<std::int64_t> chosen_elements(const std::vector<std::int64_t>& extents,
                                          const std::vector<std::vector<std::int64_t>>& marks,
                                          double each, double budget, std::uint64_t seed);

}  // namespace assay::sampling
