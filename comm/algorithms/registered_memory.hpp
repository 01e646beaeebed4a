#pragma once
// Memory for the buffers of calls in which the ranks of one machine read and write each other's
// buffers themselves, as NCCL and MPI have it for theirs (ncclMemAlloc, MPI_Alloc_mem).

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/algorithms/shared_object.hpp"

namespace assay {

class RegisteredMemory {
 public:
  /// A place in a rank's memory as it tells it to the others. Object 0: memory that they do not
  /// see.
  struct Place {
    std::uint64_t object = 0, offset = 0;
  };

  explicit RegisteredMemory(Communicator& ranks)
      : ranks_(ranks), theirs_(static_cast<std::size_t>(ranks.size())) {}

  /// Not collective. CaseError where there is none left.
  std::shared_ptr<void> allocate(std::size_t bytes);
  /// Collective: what was allocated here since the last time is seen by all ranks, or, where one of
  /// them cannot, by none; what was freed since then is let go by all.
  void show();
  /// Allocates nothing.
  Place place(const Buffer& buffer) const;
  /// Where this process sees the place of a rank; null for object 0.
  std::byte* at(int rank, Place place) const;

 private:
  struct Own {
    std::weak_ptr<SharedObject> object;              ///< its users keep it
    bool asked = false, seen = false, gone = false;  ///< gone: the others know that it is
  };
  Communicator& ranks_;
  std::vector<Own> own_;  ///< object i + 1
  /// By rank and number, which is never given to another object.
  std::vector<std::vector<std::shared_ptr<SharedObject>>> theirs_;
};

}  // namespace assay
