#pragma once
// The end of ranks that have found a fault in their input.

#include <chrono>
#include <memory>
#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Ranks read the same files and usually find the same fault. If only some find it (a file that one
/// node lacks, or that changes while it is read), the others wait in a collective call for ever.
class InputFaults {
 public:
  /// Collective. `ranks` must outlive this.
  explicit InputFaults(Communicator& ranks)
      : ranks_(ranks), beside_(ranks.split(0, ranks.rank())) {}

  /// It is for a rank that cannot continue because of `fault`. Waits for the other ranks, in a
  /// communicator of their own, since nobody knows in which call of `ranks` they are. If all come
  /// here, rank 0 prints what they have found, and this returns on all ranks. If they have not come
  /// within `patience`, this prints the fault with its rank and ends the job with exit code 2.
  void tell(const std::string& program, const std::string& fault,
            std::chrono::milliseconds patience = std::chrono::seconds(2));

 private:
  Communicator& ranks_;
  std::unique_ptr<Communicator> beside_;
};

}  // namespace assay
