#pragma once
// Memory for call buffers that the other ranks of the node read and write directly, comparable with
// ncclMemAlloc of NCCL and MPI_Alloc_mem of MPI.

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/algorithms/shared_object.hpp"

namespace assay {

class RegisteredMemory {
 public:
  /// An address in a rank's memory, in the form in which it is sent to other ranks. Object 0:
  /// memory that they cannot access.
  struct Place {
    std::uint64_t object = 0, offset = 0;
  };

  explicit RegisteredMemory(Communicator& ranks)
      : ranks_(ranks), theirs_(static_cast<std::size_t>(ranks.size())) {}

  /// Not collective. CaseError where memory is short.
  std::shared_ptr<void> allocate(std::size_t bytes);
  /// Collective: maps the objects allocated since the last call on all ranks (on none, if one rank
  /// cannot map them), and unmaps those freed since then.
  void show();
  /// The place of a buffer. Allocates nothing.
  Place place(const Buffer& buffer) const;
  /// The address of a rank's place in this process; null for object 0.
  std::byte* at(int rank, Place place) const;

 private:
  struct OwnMemory {
    std::weak_ptr<SharedObject> object;  ///< owned by the users of the memory
    bool is_offered = false;             ///< show() has offered it to the other ranks
    bool seen = false;                   ///< the other ranks have mapped it
    bool gone = false;                   ///< the other ranks have unmapped it
  };
  Communicator& ranks_;
  std::vector<OwnMemory> own_;  ///< object i + 1
  /// By rank and object number. A number is never used again.
  std::vector<std::vector<std::shared_ptr<SharedObject>>> theirs_;
};

}  // namespace assay
