#include "core/machine/health.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/environment_parts.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using environment::first_line;
using environment::number_in;

/// Folders in `folder` whose names begin with `prefix`, in the order of their names.
std::vector<fs::path> folders_in(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> all;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing))
    if (entry.path().filename().string().starts_with(prefix)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// Memory errors by module, and errors whose module is unknown: Linux,
/// Documentation/admin-guide/RAS, "EDAC". Modules without errors are left out.
void add_memory(DeviceHealth& health, const std::string& root) {
  for (const fs::path& controller : folders_in(root + "/sys/devices/system/edac/mc", "mc")) {
    const std::string name = controller.filename();
    const auto add = [&](const char* file, const std::string& place, const char* kind, bool all) {
      auto& counters = std::string_view(kind) == "corrected" ? health.corrected : health.errors;
      if (const auto count = number_in((controller / file).string()); count && (all || *count > 0))
        counters[fmt::format("memory {} {}", kind, place)] = *count;
    };
    add("ce_noinfo_count", name, "corrected", true);
    add("ue_noinfo_count", name, "uncorrected", true);
    for (const fs::path& module : folders_in(controller, "dimm")) {
      health.values["memory_modules"] += 1;
      const std::string id = module.filename();
      const std::string place =
          name + " " + first_line((module / "dimm_label").string()).value_or(id);
      add((id + "/dimm_ce_count").c_str(), place, "corrected", false);
      add((id + "/dimm_ue_count").c_str(), place, "uncorrected", false);
    }
  }
}

/// Machine-check exceptions of all processors: the line "MCE:" of /proc/interrupts. Polls ("MCP:")
/// are no errors.
void add_machine_checks(DeviceHealth& health, const std::string& root) {
  for (const std::string& line : environment::lines(root + "/proc/interrupts")) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name != "MCE:") continue;
    double sum = 0;
    for (double count; words >> count;) sum += count;
    health.errors["machine checks"] = sum;
  }
}

/// The lowest and the highest clock of the processors now, right after the work, so they are its
/// clocks.
void add_clocks(DeviceHealth& health, const std::string& root) {
  std::vector<double> hertz;
  for (const fs::path& processor : folders_in(root + "/sys/devices/system/cpu", "cpu"))
    if (const auto kilohertz = number_in((processor / "cpufreq/scaling_cur_freq").string()))
      hertz.push_back(1e3 * *kilohertz);
  if (hertz.empty()) return;
  const auto [least, greatest] = std::minmax_element(hertz.begin(), hertz.end());
  health.values["clock_hz_least"] = *least;
  health.values["clock_hz_greatest"] = *greatest;
}

/// Throttling events since boot, of cores and packages. All processors of one report the same
/// number.
void add_throttling(DeviceHealth& health, const std::string& root) {
  std::map<std::pair<double, double>, double> cores;
  std::map<double, double> packages;
  for (const fs::path& processor : folders_in(root + "/sys/devices/system/cpu", "cpu")) {
    const auto number = [&](const char* file) { return number_in((processor / file).string()); };
    const double package = number("topology/physical_package_id").value_or(0);
    if (const auto count = number("thermal_throttle/core_throttle_count"))
      cores[{package, number("topology/core_id").value_or(0)}] = *count;
    if (const auto count = number("thermal_throttle/package_throttle_count"))
      packages[package] = *count;
  }
  for (const auto& [core, count] : cores) health.values["throttle_events_core"] += count;
  for (const auto& [package, count] : packages) health.values["throttle_events_package"] += count;
}

}  // namespace

std::optional<DeviceHealth> host_health(const std::string& root) {
  DeviceHealth health;
  health.device = "cpu";
  add_memory(health, root);
  add_machine_checks(health, root);
  add_clocks(health, root);
  add_throttling(health, root);
  const bool any = !health.values.empty() || !health.errors.empty() || !health.corrected.empty();
  return any ? std::optional(health) : std::nullopt;
}

}  // namespace assay
