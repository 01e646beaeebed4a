#pragma once
// How much memory some work needed at most.

#include <optional>

namespace assay {

/// The largest resident memory of this process since the object was made (Linux's VmHWM, which is
/// set back then), above what was resident at that moment.
class PeakMemory {
 public:
  PeakMemory();
  /// Bytes; nothing where the system does not tell, or does not let the peak be set back.
  std::optional<double> bytes() const;

 private:
  std::optional<double> before_;
};

}  // namespace assay
