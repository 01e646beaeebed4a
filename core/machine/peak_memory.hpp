#pragma once
// The largest memory use of some work.

#include <optional>

namespace assay {

/// The largest growth of the resident memory of this process since the object was made: Linux's
/// VmHWM, which the constructor resets, minus the resident memory at that moment. The constructor
/// returns freed memory to the system, if glibc allocates: other allocators keep it, and work that
/// uses it again grows less than it needs.
class PeakMemory {
 public:
  PeakMemory();
  /// Bytes; nothing if the system does not report the peak or does not let it be reset.
  std::optional<double> bytes() const;

 private:
  std::optional<double> before_;
};

}  // namespace assay
