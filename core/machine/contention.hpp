#pragma once
// Finds other work that used the processors during a measurement. A time that was measured on a
// shared core may consist of waits for the scheduler (multiples of 4 ms) instead of the kernel's
// work.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay {

/// Time of one processor, in the units of Contention.
struct ProcessorTime {
  double idle = 0, stolen = 0;
};

/// Readings of the operating system's counters (contention()), in seconds, which only grow; or
/// their averages over an interval (between()). Nothing if the system does not have a counter.
struct Contention {
  /// Time in which threads of this process were ready to run, but had no processor (schedstat).
  std::optional<double> waiting{};
  /// Time that a hypervisor took from the processors (/proc/stat).
  std::optional<double> stolen{};
  /// Time in which the processors had no work (/proc/stat).
  std::optional<double> idle{};
  /// Processor time that this process used.
  std::optional<double> own{};
  /// Not a counter: foreign_work().
  std::optional<double> foreign{};
  /// Time in which processors were taken from this process's cgroup, or one above it, because its
  /// quota was used up (cpu.stat).
  std::optional<double> throttled{};
  /// Each processor of the machine, by its number; empty if unknown.
  std::map<int, ProcessorTime> processors{};
  std::set<int> allowed{};  ///< numbers of the processors that a thread of this process may use
  double idle_step = 0;     ///< of averages: what the kernel's steps may add to `idle`
};

/// The files of the system that are read.
struct ContentionFiles {
  std::string stat = "/proc/stat";
  /// cpu.stat of this process's cgroup and of those above it.
  std::vector<std::string> cpu_stat{};
};
ContentionFiles contention_files();

/// Reads the counters. It takes about 20 µs, and 10 µs for each thread: never call it in a timed
/// region.
Contention contention(const ContentionFiles& files = contention_files());

/// Averages over the `seconds` between two readings: the number of threads that waited, and of
/// processors that were stolen, idle, throttled, or used by this process. The kernel counts idle
/// time in steps (of 10 ms on most systems); `idle` is the smallest value that the readings allow.
Contention between(const Contention& before, const Contention& after, double seconds);

/// Replaces `stolen` and `idle` of averages by the sums over these processors; false, and nothing
/// is done, if they are all processors of the machine, or if one of them is unknown.
bool restrict_to(Contention& averages, const std::set<int>& numbers);

/// The average number of `processors` that did other work than the ranks of this job: all of them,
/// minus those that were idle, stolen, or used by a rank. `ranks`: averages of all ranks on the
/// host. Nothing if a value is missing. If threads waited for a processor although there was little
/// foreign work, they waited for other threads of the job.
std::optional<double> foreign_work(const std::vector<Contention>& ranks, double processors);

}  // namespace assay
