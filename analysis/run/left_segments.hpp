#pragma once
// Shared memory that a killed job leaves in /dev/shm.

#include <set>
#include <string>
#include <vector>

namespace assay {

/// MPI's libraries remove their segments themselves, unless they are killed. What may be removed
/// for them is what was not there before the job began, was mapped by a process of the job, and is
/// mapped by nobody after its end. Of this host alone.
class LeftSegments final {
 public:
  /// To be made before the job is started.
  LeftSegments();
  /// Notes what the processes below this one have mapped. To be called before they are killed.
  void look();
  /// Removes what is left when they are dead; the names of what was removed.
  std::vector<std::string> remove() const;

 private:
  std::set<std::string> before_, mapped_;  ///< names in /dev/shm
};

}  // namespace assay
