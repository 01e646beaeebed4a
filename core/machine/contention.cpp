#include "core/machine/contention.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Second number of each thread's schedstat: nanoseconds on a run queue. A thread that ends takes
/// its share along, so the sum is taken while the pool of threads stands, as it does between the
/// first and the last sample.
std::optional<double> waiting_seconds() {
  double nanoseconds = 0;
  bool any = false;
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator("/proc/self/task", gone)) {
    std::ifstream file(thread.path() / "schedstat");
    double running = 0, waiting = 0;
    if (!(file >> running >> waiting)) continue;
    nanoseconds += waiting;
    any = true;
  }
  if (!any) return std::nullopt;
  return nanoseconds * 1e-9;
}

double ticks_per_second() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

/// Idle counts what waits for a disk, too: the processor is free.
void read_processors(Contention& now) {
  std::ifstream file("/proc/stat");
  std::string label;
  double fields[8] = {};  // user nice system idle iowait irq softirq steal
  file >> label;
  for (double& field : fields)
    if (!(file >> field)) return;
  const double ticks = ticks_per_second();
  if (label != "cpu" || !(ticks > 0)) return;
  now.stolen = fields[7] / ticks;
  now.idle = (fields[3] + fields[4]) / ticks;
}

/// Of all threads, those that have ended included.
std::optional<double> own_seconds() {
  timespec used{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::optional<double> average(std::optional<double> before, std::optional<double> after,
                              double seconds) {
  if (!before || !after || !(seconds > 0)) return std::nullopt;
  return std::max(0.0, *after - *before) / seconds;
}

}  // namespace

Contention contention() {
  Contention now;
  now.waiting = waiting_seconds();
  read_processors(now);
  now.own = own_seconds();
  return now;
}

Contention between(const Contention& before, const Contention& after, double seconds) {
  Contention made;
  made.waiting = average(before.waiting, after.waiting, seconds);
  made.stolen = average(before.stolen, after.stolen, seconds);
  made.own = average(before.own, after.own, seconds);
  made.idle = average(before.idle, after.idle, seconds);
  // Two sums of the kernel's finer clocks, each cut to whole steps.
  if (made.idle) made.idle = std::max(0.0, *made.idle - 2 / ticks_per_second() / seconds);
  return made;
}

std::optional<double> foreign_work(const std::vector<Contention>& ranks, double processors) {
  if (ranks.empty() || !(processors > 0)) return std::nullopt;
  double used = 0, most_idle = 0, most_stolen = 0;
  for (const Contention& rank : ranks) {
    if (!rank.own || !rank.idle) return std::nullopt;
    used += *rank.own;
    // Ranks do not begin and end at one time: the one that saw most idle time was least mistaken.
    most_idle = std::max(most_idle, *rank.idle);
    most_stolen = std::max(most_stolen, rank.stolen.value_or(0));
  }
  return std::max(0.0, processors - most_idle - most_stolen - used);
}

}  // namespace assay
