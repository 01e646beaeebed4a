#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/machine/environment_parts.hpp"

// The description of the hardware is equal, to the byte, on two nodes of one model: it has no host
// name, no bus address, no exact memory size.

namespace assay::environment {
namespace {

using nlohmann::json;

class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) return;
    initialised_ = true;
    // Describes the whole machine. The part that this process may use is in the volatile state.
    hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    loaded_ = hwloc_topology_load(topology_) == 0 && hwloc_topology_is_thissystem(topology_) != 0;
  }
  ~Topology() {
    if (initialised_) hwloc_topology_destroy(topology_);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  bool loaded() const { return loaded_; }

  json count(hwloc_obj_type_t type) const {
    const int number = loaded_ ? hwloc_get_nbobjs_by_type(topology_, type) : -1;
    return number > 0 ? json(number) : json(nullptr);
  }

  /// [{"level", "type", "bytes", "line_bytes", "count"}], innermost first; equal ones together.
  json caches() const {
    json all = json::array();
    if (!loaded_) return all;
    for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; ++type) {
      hwloc_obj_t object = nullptr;
      while ((object = hwloc_get_next_obj_by_type(topology_, static_cast<hwloc_obj_type_t>(type),
                                                  object)) != nullptr) {
        const auto& cache = object->attr->cache;
        const char* kind = cache.type == HWLOC_OBJ_CACHE_UNIFIED ? "unified"
                           : cache.type == HWLOC_OBJ_CACHE_DATA  ? "data"
                                                                 : "instruction";
        const json level = {{"level", cache.depth},
                            {"type", kind},
                            {"bytes", cache.size},
                            {"line_bytes", cache.linesize}};
        const auto same = std::find_if(all.begin(), all.end(), [&](json other) {
          other.erase("count");
          return other == level;
        });
        if (same != all.end()) {
          (*same)["count"] = (*same)["count"].get<int>() + 1;
        } else {
          all.push_back(level);
          all.back()["count"] = 1;
        }
      }
    }
    return all;
  }

 private:
  hwloc_topology_t topology_ = nullptr;
  bool initialised_ = false, loaded_ = false;
};

/// The online memory, in blocks of the kernel. Equal nodes have equal numbers. MemTotal (in the
/// volatile state) may differ, because it excludes the memory that a kernel reserves.
json memory() {
  namespace fs = std::filesystem;
  const auto block = first_line("/sys/devices/system/memory/block_size_bytes");  // hexadecimal
  std::uint64_t blocks = 0;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/memory", missing))
    if (number_in(entry.path() / "online") == 1.0) ++blocks;
  if (block && blocks > 0) return blocks * std::stoull(*block, nullptr, 16);
  const auto total = field_in("/proc/meminfo", "MemTotal");
  if (!total) return nullptr;
  return static_cast<std::uint64_t>(
             std::max(1.0, std::round(std::strtod(total->c_str(), nullptr) / 0x1p20)))
         << 30;
}

/// Instruction sets that decide which kernels a library picks, as /proc/cpuinfo names them.
json instruction_sets() {
  auto flags = field_in("/proc/cpuinfo", "flags");
  if (!flags) flags = field_in("/proc/cpuinfo", "Features");
  if (!flags) return nullptr;
  std::istringstream words(*flags);
  std::set<std::string> chosen;
  for (std::string word; words >> word;)
    for (const char* prefix : {"sse4", "ssse3", "avx", "amx", "fma", "f16c", "bmi", "sve", "sme2",
                               "sme_", "asimd", "fphp", "bf16", "i8mm", "fcma"})
      if (word.starts_with(prefix) || word == "sme") chosen.insert(word);
  return chosen;
}

/// Graphics and processing accelerators on the PCI bus, by vendor and device number.
json accelerators() {
  namespace fs = std::filesystem;
  std::multiset<std::string> numbers;
  std::error_code missing;
  for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices", missing)) {
    const auto kind = first_line(device.path() / "class");
    if (!kind || (!kind->starts_with("0x0302") && !kind->starts_with("0x0380") &&
                  !kind->starts_with("0x12")))
      continue;
    numbers.insert(first_line(device.path() / "vendor").value_or("?") + ":" +
                   first_line(device.path() / "device").value_or("?"));
  }
  return numbers;
}

json capture() {
  const Topology topology;
  json all = json::object();
  auto model = field_in("/proc/cpuinfo", "model name");
  if (!model) model = field_in("/proc/cpuinfo", "cpu");  // POWER
  all["processor"] = or_null(model);
  for (const char* key : {"vendor_id", "cpu family", "model", "stepping", "CPU implementer",
                          "CPU part", "CPU variant", "CPU revision"})
    if (const auto value = field_in("/proc/cpuinfo", key)) all["processor_ids"][key] = *value;
  if (!all.contains("processor_ids")) all["processor_ids"] = nullptr;
  const json cores = topology.count(HWLOC_OBJ_CORE), threads = topology.count(HWLOC_OBJ_PU);
  all["sockets"] = topology.count(HWLOC_OBJ_PACKAGE);
  all["cores"] = cores;
  all["hardware_threads"] = threads;
  all["threads_per_core"] = cores.is_null() || threads.is_null()
                                ? json(nullptr)
                                : json(threads.get<double>() / cores.get<double>());
  all["numa_nodes"] = topology.count(HWLOC_OBJ_NUMANODE);
  all["caches"] = topology.caches();
  all["memory_bytes"] = memory();
  all["instruction_sets"] = instruction_sets();
  const auto most = number_in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");  // kHz
  all["max_clock_hz"] = most ? json(*most * 1e3) : json(nullptr);
  auto product = first_line("/sys/class/dmi/id/product_name");
  if (!product) product = first_line("/proc/device-tree/model");
  all["product"] = or_null(product);
  const auto flags = field_in("/proc/cpuinfo", "flags");
  all["virtual_machine"] =
      flags ? json((" " + *flags + " ").find(" hypervisor ") != std::string::npos) : json(nullptr);
  all["accelerators"] = accelerators();
  all["peaks"] = compute_theoretical_peaks(all);
  if (!topology.loaded()) all["topology_reason"] = "hwloc could not read this machine";
  return all;
}

}  // namespace

json hardware() {
  static const json once = capture();  // it does not change while a process lives
  return once;
}

std::size_t last_cache_bytes(const json& hardware) {
  std::size_t last = 0;
  int deepest = 0;
  for (const json& cache : hardware.value("caches", json::array())) {
    const int level = cache.at("level");
    if (cache.at("type") == "instruction" || level < deepest) continue;
    const std::size_t bytes =
        cache.at("bytes").get<std::size_t>() * cache.at("count").get<std::size_t>();
    last = level > deepest ? bytes : last + bytes;
    deepest = level;
  }
  return last;
}

std::size_t last_cache_bytes() {
  if (const std::size_t last = last_cache_bytes(hardware()); last != 0) return last;
#ifdef _SC_LEVEL3_CACHE_SIZE
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = ::sysconf(name); bytes > 0) return static_cast<std::size_t>(bytes);
#endif
  return 0;
}

}  // namespace assay::environment
