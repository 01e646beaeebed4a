#pragma once
// Whether others wanted the processors while something was timed: two spinning threads on a shared
// core show the scheduler's quantum (multiples of 4 ms), not the kernel.

#include <optional>
#include <vector>

namespace assay {

/// Readings of ever-growing clocks of the operating system; nothing where it does not keep them.
struct Contention {
  std::optional<double> waiting{};  ///< seconds that threads of this process were ready to run and
                                    ///< did not (schedstat)
  std::optional<double>
      stolen{};  ///< seconds that a hypervisor took from this machine's processors (/proc/stat)
  std::optional<double>
      idle{};                   ///< seconds that this machine's processors had no work (/proc/stat)
  std::optional<double> own{};  ///< seconds of processors that this process used
  std::optional<double> foreign{};  ///< no reading: see foreign_work()
};

/// The readings now. About 20 µs and 10 µs a thread: never inside a timed region.
Contention contention();

/// Average number of threads that waited, and of processors that were taken, idle and used by this
/// process, in the `seconds` between two readings. The kernel tells idle time in steps: of what may
/// have been idle only that counts which surely was.
Contention between(const Contention& before, const Contention& after, double seconds);

/// Processors that did other work than the ranks of a job on one host, by the averages of these
/// ranks: all `processors` less those that were idle, stolen, or used by a rank. Threads that wait
/// for a processor wait for foreign work at most as far as there is any: the rest is the job's own
/// helper threads, or more ranks than processors. Nothing where a rank cannot tell.
std::optional<double> foreign_work(const std::vector<Contention>& ranks, double processors);

}  // namespace assay
