#pragma once
// Chooses the output elements that are compared with the reference if all would cost too much:
// those where implementations are often wrong (first and last elements, the last partial block),
// and random ones. It serves all operations.

#include <cstdint>
#include <vector>

namespace assay::sampling {

/// Coordinates of one dimension of an output that are always checked: both ends, the middle, and
/// those that are added.
class Marks {
 public:
  explicit Marks(std::int64_t extent);
  /// Adds a coordinate; does nothing if it is outside the dimension.
  void add(std::int64_t at);
  /// Adds, for blocks of `size`: the first coordinate of the last block, the one before it, and the
  /// last one of the first block.
  void add_blocks(std::int64_t size);
  /// All coordinates, sorted and distinct.
  std::vector<std::int64_t> take();

 private:
  std::int64_t extent_;
  std::vector<std::int64_t> at_;
};

/// Row-major indices of elements of an output with these extents, sorted and distinct. All elements
/// if they cost at most `budget`; else as many corners as fit, each mark of each dimension, and
/// random elements; at least 16. An element costs `each` multiply-adds, and 32 more for finding its
/// inputs and storing it, so that short sums do not give samples of millions.
std::vector<std::int64_t> choose_elements(const std::vector<std::int64_t>& extents,
                                          const std::vector<std::vector<std::int64_t>>& marks,
                                          double each, double budget, std::uint64_t seed);

}  // namespace assay::sampling
