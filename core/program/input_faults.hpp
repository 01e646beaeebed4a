#pragma once
// Ends ranks that have found a fault in their input.

#include <chrono>
#include <memory>
#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Ranks read the same files and usually find the same fault. If only some ranks find it (a file is
/// missing on one node, or changes while it is read), the other ranks wait in a collective call for
/// ever.
class InputFaults {
 public:
  /// Collective. `ranks` must outlive this.
  explicit InputFaults(Communicator& ranks)
      : ranks_(ranks), beside_(ranks.split(0, ranks.rank())) {}

  /// Call it on a rank that cannot continue because of `fault`. It waits for the other ranks in a
  /// separate communicator, because they may be in any call of `ranks`. If all ranks come here,
  /// rank 0 prints their faults, and the function returns on all ranks. If some have not come
  /// within `patience`, it prints the fault with its rank and ends the job with exit code 2.
  void tell(const std::string& program, const std::string& fault,
            std::chrono::milliseconds patience = std::chrono::seconds(2));

 private:
  Communicator& ranks_;
  std::unique_ptr<Communicator> beside_;
};

}  // namespace assay
