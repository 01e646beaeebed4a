#include "core/contention.hpp"

#include <unistd.h>

#include <algorithm>
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

std::optional<double> stolen_seconds() {
  std::ifstream file("/proc/stat");
  std::string label;
  double field = 0;
  file >> label;
  for (int i = 0; i < 8; ++i)  // user nice system idle iowait irq softirq steal
    if (!(file >> field)) return std::nullopt;
  const long ticks = sysconf(_SC_CLK_TCK);
  if (label != "cpu" || ticks <= 0) return std::nullopt;
  return field / static_cast<double>(ticks);
}

std::optional<double> average(std::optional<double> before, std::optional<double> after,
                              double seconds) {
  if (!before || !after || !(seconds > 0)) return std::nullopt;
  return std::max(0.0, *after - *before) / seconds;
}

}  // namespace

Contention contention() { return {waiting_seconds(), stolen_seconds()}; }

Contention between(const Contention& before, const Contention& after, double seconds) {
  return {average(before.waiting, after.waiting, seconds),
          average(before.stolen, after.stolen, seconds)};
}

}  // namespace assay
