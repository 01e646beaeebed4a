#pragma once
// Memory that a process shares with other processes on its host.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// A POSIX shared-memory object that is unlinked as soon as it is created. Other processes open it
/// through /proc/<pid>/fd, so nothing remains when the process ends, even if it is killed.
class SharedObject {
 public:
  /// Creates an object, zeroed. Its pages are allocated now, so they are on this process's NUMA
  /// node, and a full /dev/shm is a CaseError instead of a later bus error.
  explicit SharedObject(std::size_t bytes);
  /// Maps an object of another process by its address(). CaseError where it is not accessible.
  explicit SharedObject(const std::string& address);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  std::string address() const;  ///< only for an object that this process created

 private:
  void map();

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The objects of all ranks, by rank.
using SharedObjects = std::vector<std::vector<std::shared_ptr<SharedObject>>>;

/// Collective: maps the objects of all ranks into each process; its own are not mapped again.
/// `problem`: why this rank could not create its objects. Returns, on every rank alike, the reason
/// why a rank has a problem or cannot map another's memory ("rank 1: …"), and leaves `all` empty
/// then; else returns an empty text.
std::string show(Communicator& ranks, const std::vector<std::shared_ptr<SharedObject>>& mine,
                 const std::string& problem, SharedObjects& all);

}  // namespace assay
