#pragma once
// Memory that all ranks of one machine see.

#include <cstddef>
#include <memory>

#include "core/backend.hpp"

namespace assay {

/// A POSIX shared-memory object whose name is gone before anyone else opens it: the others reach it
/// through /proc/<rank 0>/fd, so that no crash at any moment leaves anything behind.
class SharedSegment {
 public:
  /// Collective: the same number of bytes for each rank, zeroed, in pages of its own on the memory
  /// of its own node. Memory that cannot be had is a reason, not a bus error later.
  static Made<std::unique_ptr<SharedSegment>> make(Communicator& ranks, std::size_t bytes_of_rank);
  SharedSegment(std::byte* data, std::size_t bytes_of_rank, std::size_t bytes)
      : data_(data), bytes_of_rank_(bytes_of_rank), bytes_(bytes) {}
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  ~SharedSegment();

  std::byte* of_rank(int rank) const {
    return data_ + static_cast<std::size_t>(rank) * bytes_of_rank_;
  }
  std::size_t bytes_of_rank() const { return bytes_of_rank_; }

 private:
  std::byte* data_;
  std::size_t bytes_of_rank_, bytes_;
};

}  // namespace assay
