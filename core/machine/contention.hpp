#pragma once
// Whether other work used the processors during a measurement. A time that was measured on a shared
// core may consist of waits for the scheduler (multiples of 4 ms) instead of the kernel's work.

#include <optional>
#include <vector>

namespace assay {

/// Readings of the operating system's counters (contention()), in seconds, which only grow; or
/// their averages over an interval (between()). Nothing if the system does not have a counter.
struct Contention {
  /// Time in which threads of this process were ready to run, but had no processor (schedstat).
  std::optional<double> waiting{};
  /// Time that a hypervisor took from this machine's processors (/proc/stat).
  std::optional<double> stolen{};
  /// Time in which this machine's processors had no work (/proc/stat).
  std::optional<double> idle{};
  /// Processor time that this process used.
  std::optional<double> own{};
  /// Not a counter: foreign_work().
  std::optional<double> foreign{};
};

/// Reads the counters. It takes about 20 µs, and 10 µs for each thread: never call it in a timed
/// region.
Contention contention();

/// Averages over the `seconds` between two readings: the number of threads that waited, and of
/// processors that were stolen, idle, or used by this process. The kernel counts idle time in steps
/// (of 10 ms on most systems); `idle` is the smallest value that the readings allow.
Contention between(const Contention& before, const Contention& after, double seconds);

/// The average number of a host's `processors` that did other work than the ranks of this job: all
/// of them, minus those that were idle, stolen, or used by a rank. `ranks`: averages of all ranks
/// on the host. Nothing if a value is missing. If threads waited for a processor although there was
/// little foreign work, they waited for other threads of the job.
std::optional<double> foreign_work(const std::vector<Contention>& ranks, double processors);

}  // namespace assay
