#pragma once
// Whether others wanted the processors while something was timed: two spinning threads on a shared
// core show the scheduler's quantum (multiples of 4 ms), not the kernel.

#include <optional>

namespace assay {

/// Readings of two ever-growing clocks of the operating system; nothing where it does not keep
/// them.
struct Contention {
  std::optional<double>
      waiting;  ///< seconds that threads of this process were ready to run and did not (schedstat)
  std::optional<double>
      stolen;  ///< seconds that a hypervisor took from this machine's processors (/proc/stat)
};

/// The readings now. About 20 µs and 10 µs a thread: never inside a timed region.
Contention contention();

/// Average number of threads that waited, and of processors that were taken, in the `seconds`
/// between two readings.
Contention between(const Contention& before, const Contention& after, double seconds);

}  // namespace assay
