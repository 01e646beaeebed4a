#pragma once
// Memory of a process that the other ranks of its machine see.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// A POSIX shared-memory object whose name is gone before anyone else opens it: the others reach it
/// through /proc/<its process>/fd, so that no crash at any moment leaves anything behind.
class SharedObject {
 public:
  /// A new one, zeroed. Its pages are taken now, so that they lie on this process's memory node,
  /// and so that a full /dev/shm is a CaseError and not a bus error later.
  explicit SharedObject(std::size_t bytes);
  /// That of another process, from its address(). CaseError where it cannot be seen from here.
  explicit SharedObject(const std::string& address);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  std::string address() const;  ///< of one's own

 private:
  void map();

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Objects of each rank, by rank.
using SharedObjects = std::vector<std::vector<std::shared_ptr<SharedObject>>>;

/// Collective: each rank shows its objects to all others; one's own are not mapped again.
/// `problem`: why this rank has none. The same reason on every rank, and nothing in `all`, where
/// one of them has a problem or does not see another's memory ("rank 1: …"); else empty.
std::string show(Communicator& ranks, std::vector<std::shared_ptr<SharedObject>> mine,
                 const std::string& problem, SharedObjects& all);

}  // namespace assay
