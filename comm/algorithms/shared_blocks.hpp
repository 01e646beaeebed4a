#pragma once
// Cuts the vector of a call of the shared-memory algorithm into blocks, and a block into one slice
// for each rank.

#include <cstdint>

#include "core/api/communicator.hpp"

namespace assay {

/// In allgather, reduce_scatter and alltoall the vector has one part for each rank. A block takes
/// some elements of each part, and a rank's slice is its part's elements. In all other collectives
/// a block is a range of the vector, and the slices divide it.
class SharedBlocks {
 public:
  /// Elements of the vector.
  struct Range {
    std::int64_t first, count;
  };
  /// A slice has at most `slice_bytes`.
  SharedBlocks(const Call& call, int ranks, std::size_t slice_bytes);

  std::uint64_t count() const { return count_; }
  /// Elements of one part or, without parts, of the vector.
  std::int64_t length() const { return length_; }
  /// The slice of `rank` in a block.
  Range slice(std::uint64_t block, int rank) const;

 private:
  int ranks_;
  bool parts_ = false;
  std::int64_t length_ = 0;
  std::int64_t step_ = 0;  ///< elements of a block, of each part
  std::uint64_t count_ = 0;
};

}  // namespace assay
