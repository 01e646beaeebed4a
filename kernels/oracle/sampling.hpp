#pragma once
// Chooses the output elements that are compared with the reference if all would cost too much:
// those where implementations are often wrong (first and last elements, the last partial block),
// and random ones. It serves all operations.

#include <cstdint>
#include <vector>

namespace assay::sampling {

/// Coordinates of one dimension of an output that are always checked: the two at each end, the
/// middle, and added ones.
class Marks {
 public:
  explicit Marks(std::int64_t extent);
  /// Adds a coordinate; does nothing if it is outside the dimension.
  void add(std::int64_t at);
  /// Adds, for blocks of `size`: the first coordinate of the last block and the one before it; the
  /// last coordinate of the first block and the one after it.
  void add_blocks(std::int64_t size);
  /// All coordinates, sorted and distinct.
  std::vector<std::int64_t> take();

 private:
  std::int64_t extent_;
  std::vector<std::int64_t> at_;
};

/// Row-major indices of elements of an output with these extents, sorted and distinct. If all
/// elements cost at most `budget`, returns all. Otherwise returns at least 16: as many corners as
/// fit, each mark of each dimension, and random elements. An element costs `each` multiply-adds,
/// and 32 more for finding its inputs and storing it; so short sums do not lead to samples of
/// millions.
std::vector<std::int64_t> choose_elements(const std::vector<std::int64_t>& extents,
                                          const std::vector<std::vector<std::int64_t>>& marks,
                                          double each, double budget, std::uint64_t seed);

}  // namespace assay::sampling
