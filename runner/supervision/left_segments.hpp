#pragma once
// Removes shared memory that a killed job left in /dev/shm.

#include <set>
#include <string>
#include <vector>

namespace assay {

/// MPI libraries remove their segments themselves, unless their processes are killed. Removed is
/// only a segment of this host that did not exist before the job, was mapped by a process of the
/// job, and is mapped by no process after the end of the job.
class LeftSegments final {
 public:
  /// To be constructed before the job is started.
  LeftSegments();
  /// Records the segments that the descendants of this process have mapped. To be called before
  /// these are killed.
  void look();
  /// Removes the segments that are left, and returns their names. To be called when the processes
  /// are dead.
  std::vector<std::string> remove() const;

 private:
  std::set<std::string> before_, mapped_;  ///< names in /dev/shm
};

}  // namespace assay
