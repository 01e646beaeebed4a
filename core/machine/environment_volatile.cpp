#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/base/clock.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay::environment {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string processor_folder(int number) {
  return fmt::format("/sys/devices/system/cpu/cpu{}", number);
}

/// The word in brackets of "always [madvise] never".
json word_in_brackets(const std::string& file) {
  const auto line = first_line(file);
  if (!line) return nullptr;
  const std::size_t from = line->find('['), to = line->find(']');
  return from == std::string::npos || to == std::string::npos
             ? json(*line)
             : json(line->substr(from + 1, to - from - 1));
}

/// {"min","median","max"} of the clocks of the processors that this process may use, and their
/// source.
json clocks(const std::vector<int>& allowed) {
  std::vector<double> hertz;
  std::string source = "cpufreq";
  for (const int number : allowed)
    if (const auto value = number_in(processor_folder(number) + "/cpufreq/scaling_cur_freq"))
      hertz.push_back(*value * 1e3);
  if (hertz.empty()) {
    source = "/proc/cpuinfo";
    for (const std::string& line : lines("/proc/cpuinfo"))
      if (line.starts_with("cpu MHz"))
        hertz.push_back(std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 1e6);
  }
  if (hertz.empty()) return nullptr;
  std::sort(hertz.begin(), hertz.end());
  return {{"min", hertz.front()},
          {"median", hertz[hertz.size() / 2]},
          {"max", hertz.back()},
          {"source", source}};
}

json governors(const std::vector<int>& allowed) {
  std::set<std::string> names;
  for (const int number : allowed)
    if (const auto name = first_line(processor_folder(number) + "/cpufreq/scaling_governor"))
      names.insert(*name);
  return names.empty() ? json(nullptr) : json(names);
}

json turbo() {
  if (const auto off = number_in("/sys/devices/system/cpu/intel_pstate/no_turbo")) return *off == 0;
  if (const auto on = number_in("/sys/devices/system/cpu/cpufreq/boost")) return *on != 0;
  return nullptr;
}

/// Hottest sensor of the machine in degrees Celsius.
json temperature() {
  json hottest = nullptr;
  const auto take = [&](const std::string& file) {
    const auto value = number_in(file);  // millidegrees
    if (value && *value > -100e3 && *value < 200e3 &&
        (hottest.is_null() || *value / 1e3 > hottest.get<double>()))
      hottest = *value / 1e3;
  };
  std::error_code missing;
  for (const auto& zone : fs::directory_iterator("/sys/class/thermal", missing))
    if (zone.path().filename().string().starts_with("thermal_zone")) take(zone.path() / "temp");
  for (const auto& chip : fs::directory_iterator("/sys/class/hwmon", missing)) {
    std::error_code gone;
    for (const auto& sensor : fs::directory_iterator(chip.path(), gone)) {
      const std::string name = sensor.path().filename();
      if (name.starts_with("temp") && name.ends_with("_input")) take(sensor.path());
    }
  }
  return hottest;
}

/// Throttling events since boot, summed over the processors that we may use.
json throttles(const std::vector<int>& allowed) {
  json total = nullptr;
  for (const int number : allowed)
    for (const char* name : {"core_throttle_count", "package_throttle_count"})
      if (const auto value = number_in(processor_folder(number) + "/thermal_throttle/" + name))
        total = (total.is_null() ? 0.0 : total.get<double>()) + *value;
  return total;
}

/// Seconds since boot that the hypervisor took away, and that the machine was idle, over all
/// processors.
void processor_time(json& all) {
  all["steal_s"] = all["idle_s"] = nullptr;
  const auto line =
      first_line("/proc/stat");  // cpu user nice system idle iowait irq softirq steal …
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (!line || ticks <= 0) return;
  std::istringstream words(*line);
  std::string label;
  std::array<double, 8> times{};
  words >> label;
  for (double& time : times) words >> time;
  if (!words) return;
  all["idle_s"] = times[3] / ticks;
  all["steal_s"] = times[7] / ticks;
}

std::optional<double> meminfo_bytes(const std::string& key) {
  const auto text = field_in("/proc/meminfo", key);
  if (!text) return std::nullopt;
  return std::strtod(text->c_str(), nullptr) * 1024;
}

std::optional<double> highest_in(const std::string& file) {
  std::ifstream numbers(file);
  std::optional<double> highest;
  for (double number; numbers >> number;) highest = std::max(number, highest.value_or(number));
  return highest;
}

}  // namespace

json clock_limit(const std::vector<int>& processors, const std::string& folder) {
  json least = nullptr;
  for (const int number : processors) {
    const std::string files = fmt::format("{}/cpu{}/cpufreq/", folder, number);
    // If the driver has a table (acpi-cpufreq), cpuinfo_max_freq may be a boost clock that no
    // policy names.
    const auto limit = number_in(files + "scaling_max_freq");
    auto most = number_in(files + "cpuinfo_max_freq");
    if (const auto table = highest_in(files + "scaling_available_frequencies")) most = table;
    if (limit && most && *most > 0)
      least = std::min(*limit / *most, least.is_null() ? 1.0 : least.get<double>());
  }
  return least;
}

json volatile_state() {
  const std::vector<int> allowed = list_allowed_processors();
  json all = json::object();
  all["time"] = format_utc_now();
  all["processors_allowed"] = allowed.empty() ? json(nullptr) : json(allowed);
  all["processor_quota"] = or_null(cpu_quota());
  all["clock_hz"] = clocks(allowed);
  all["clock_limit"] = clock_limit(allowed);
  all["governors"] = governors(allowed);
  all["turbo"] = turbo();
  const auto smt = number_in("/sys/devices/system/cpu/smt/active");
  all["smt_active"] = smt ? json(*smt != 0) : json(nullptr);
  all["transparent_huge_pages"] = word_in_brackets("/sys/kernel/mm/transparent_hugepage/enabled");
  all["numa_balancing"] = or_null(number_in("/proc/sys/kernel/numa_balancing"));
  double load[3];
  all["load"] = ::getloadavg(load, 3) == 3 ? json(load) : json(nullptr);
  processor_time(all);
  all["temperature_celsius"] = temperature();
  all["throttle_events"] = throttles(allowed);
  all["memory_total_bytes"] = or_null(meminfo_bytes("MemTotal"));
  all["memory_available_bytes"] = or_null(meminfo_bytes("MemAvailable"));
  all["swap_used_bytes"] = nullptr;
  if (const auto total = meminfo_bytes("SwapTotal"), free = meminfo_bytes("SwapFree");
      total && free)
    all["swap_used_bytes"] = *total - *free;
  all["microcode"] = or_null(field_in("/proc/cpuinfo", "microcode"));
  return all;
}

}  // namespace assay::environment
