#include "core/machine/contention.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Second number of each thread's schedstat: nanoseconds on a run queue. The time of a thread that
/// ends is lost, so the sum is valid only while the pool of threads exists, as between the first
/// and the last sample.
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

/// Reads the first lines of the file: "cpu" of the machine, then "cpu0", … of its processors.
/// Waiting for a disk counts as idle, because the processor is free.
void read_processors(const std::string& name, Contention& now) {
  const double ticks = ticks_per_second();
  std::ifstream file(name);
  for (std::string line; ticks > 0 && std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string label;
    double fields[8] = {};  // user nice system idle iowait irq softirq steal
    words >> label;
    for (double& field : fields) words >> field;
    if (!words) return;
    const ProcessorTime time{(fields[3] + fields[4]) / ticks, fields[7] / ticks};
    if (label == "cpu")
      now.idle = time.idle, now.stolen = time.stolen;
    else if (const auto number = parse_number<int>(label.substr(3)))
      now.processors[*number] = time;
  }
}

/// Sum over the cgroups, because a parent does not count the time in which its members were
/// throttled.
std::optional<double> read_throttled_seconds(const std::vector<std::string>& files) {
  std::optional<double> sum;
  for (const std::string& file : files)
    for (const auto& [key, unit] : {std::pair{"throttled_usec", 1e-6}, {"throttled_time", 1e-9}})
      if (const auto text = environment::field_in(file, key))
        if (const auto time = parse_number(*text)) sum = sum.value_or(0) + *time * unit;
  return sum;
}

/// The processor time of all threads, including those that have ended.
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

ContentionFiles contention_files() {
  static const ContentionFiles files{"/proc/stat",
                                     environment::cgroup_files("cpu.stat", "cpu", "cpu.stat")};
  return files;
}

Contention contention(const ContentionFiles& files) {
  Contention now;
  now.waiting = waiting_seconds();
  read_processors(files.stat, now);
  now.throttled = read_throttled_seconds(files.cpu_stat);
  now.allowed = environment::processors_of_threads();
  now.own = own_seconds();
  return now;
}

bool restrict_to(Contention& averages, const std::set<int>& numbers) {
  const auto& all = averages.processors;
  const auto known = [&](int number) { return all.contains(number); };
  if (numbers.empty() || numbers.size() >= all.size() ||
      !std::all_of(numbers.begin(), numbers.end(), known))
    return false;
  ProcessorTime sum;
  for (const int number : numbers) {
    sum.idle += all.at(number).idle;
    sum.stolen += all.at(number).stolen;
  }
  averages.idle = std::max(0.0, sum.idle - averages.idle_step);
  averages.stolen = sum.stolen;
  return true;
}

Contention between(const Contention& before, const Contention& after, double seconds) {
  Contention contention;
  contention.waiting = average(before.waiting, after.waiting, seconds);
  contention.stolen = average(before.stolen, after.stolen, seconds);
  contention.own = average(before.own, after.own, seconds);
  contention.idle = average(before.idle, after.idle, seconds);
  contention.throttled = average(before.throttled, after.throttled, seconds);
  // The difference of two readings, each of which the kernel rounds down to whole steps.
  contention.idle_step = 2 / ticks_per_second() / seconds;
  if (contention.idle) contention.idle = std::max(0.0, *contention.idle - contention.idle_step);
  for (const auto& [number, then] : before.processors)
    if (const auto now = after.processors.find(number);
        now != after.processors.end() && contention.idle)
      contention.processors[number] = {*average(then.idle, now->second.idle, seconds),
                                       *average(then.stolen, now->second.stolen, seconds)};
  contention.allowed = after.allowed;
  return contention;
}

std::optional<double> foreign_work(const std::vector<Contention>& ranks, double processors) {
  if (ranks.empty() || !(processors > 0)) return std::nullopt;
  double used = 0, most_idle = 0, most_stolen = 0;
  for (const Contention& rank : ranks) {
    if (!rank.own || !rank.idle) return std::nullopt;
    used += *rank.own;
    // Ranks do not begin and end at the same time. The largest idle time is the best estimate.
    most_idle = std::max(most_idle, *rank.idle);
    most_stolen = std::max(most_stolen, rank.stolen.value_or(0));
  }
  return std::max(0.0, processors - most_idle - most_stolen - used);
}

}  // namespace assay
