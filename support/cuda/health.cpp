// The health of a GPU, by NVML: errors of its memory, rows that were remapped, Xid events, links.

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/cuda/device.hpp"
#include "support/cuda/nvml.hpp"

namespace assay::cuda {
namespace {

// nvmlMemoryErrorType_t, nvmlEccCounterType_t: since the driver was loaded.
constexpr int corrected = 0, uncorrected = 1, since_load = 0;

/// nvmlMemoryLocation_t.
struct Location {
  int number;
  const char* name;
};
constexpr std::array locations{Location{0, "l1"},        Location{1, "l2"},  Location{2, "dram"},
                               Location{3, "registers"}, Location{4, "tex"}, Location{5, "shm"},
                               Location{6, "cbu"},       Location{7, "sram"}};

/// nvmlNvLinkErrorCounter_t. The link resends data after such an error.
constexpr std::array link_counters{Location{0, "replays"}, Location{1, "recoveries"},
                                   Location{2, "crc of flits"}, Location{3, "crc of data"}};
constexpr unsigned most_links = 18;

/// A counter that a GPU has; `ask` returns nvmlReturn_t.
struct Counter {
  std::string name;
  bool is_corrected;
  std::function<int(unsigned long long*)> ask;
};

/// Asks one GPU, always for the same counters. Lives as long as the process.
class HealthReader {
 public:
  HealthReader(NvmlDevice gpu, std::string address) : gpu_(gpu), address_(std::move(address)) {
    add_memory();
    add_links();
    if (nvml().make_events != nullptr && nvml().watch_events != nullptr &&
        nvml().next_event != nullptr && nvml().make_events(&events_) == 0 &&
        nvml().watch_events(gpu_, NvmlEvent::xid, events_) != 0)
      events_ = nullptr;
    // Counters that do not answer now are not asked again.
    unsigned long long count = 0;
    std::erase_if(counters_, [&](const Counter& counter) { return counter.ask(&count) != 0; });
  }

  DeviceHealth read() {
    const std::lock_guard lock(mutex_);
    DeviceHealth health;
    health.device = "GPU " + address_;
    std::erase_if(counters_, [&](const Counter& counter) {
      unsigned long long count = 0;
      const int status = counter.ask(&count);
      if (status == nvml_gpu_is_lost) health.lost = "NVML says that the GPU is lost";
      if (status != 0) return status != nvml_gpu_is_lost;
      (counter.is_corrected ? health.corrected : health.errors)[counter.name] =
          static_cast<double>(count);
      return false;
    });
    read_events(health);
    read_values(health);
    return health;
  }

 private:
  void add_memory() {
    if (nvml().memory_errors == nullptr) return;
    for (const Location& location : locations)
      for (const int type : {corrected, uncorrected})
        counters_.push_back(
            {fmt::format("ecc {} {}", type == corrected ? "corrected" : "uncorrected",
                         location.name),
             type == corrected, [gpu = gpu_, type, location](auto* count) {
               return nvml().memory_errors(gpu, type, since_load, location.number, count);
             }});
  }

  void add_links() {
    if (nvml().pcie_replays != nullptr)
      counters_.push_back({"pcie replays", true, [gpu = gpu_](auto* count) {
                             unsigned replays = 0;
                             const int status = nvml().pcie_replays(gpu, &replays);
                             *count = replays;
                             return status;
                           }});
    if (nvml().link_errors == nullptr) return;
    for (unsigned link = 0; link < most_links; ++link)
      for (const Location& counter : link_counters)
        counters_.push_back({fmt::format("nvlink {} {}", link, counter.name), true,
                             [gpu = gpu_, link, counter](auto* count) {
                               return nvml().link_errors(gpu, link, counter.number, count);
                             }});
  }

  void read_events(DeviceHealth& health) {
    NvmlEvent event;
    int status = 0;
    while (events_ != nullptr && (status = nvml().next_event(events_, &event, 0)) == 0)
      if (event.type == NvmlEvent::xid) xids_[fmt::format("xid {}", event.data)] += 1;
    if (status == nvml_gpu_is_lost) health.lost = "NVML says that the GPU is lost";
    health.errors.insert(xids_.begin(), xids_.end());
    if (!health.lost.empty())
      for (const auto& [name, count] : xids_) health.lost += ", " + name;
  }

  void read_values(DeviceHealth& health) const {
    const auto add = [&](const char* name, auto function) {
      if (unsigned value = 0; function != nullptr && function(gpu_, &value) == 0)
        health.values[name] = value;
    };
    add("pcie_generation", nvml().pcie_generation);
    add("pcie_generation_max", nvml().pcie_generation_max);
    add("pcie_width", nvml().pcie_width);
    add("pcie_width_max", nvml().pcie_width_max);
    add("pages_pending", nvml().pages_pending);
    // Remapped rows are no fault: they stay remapped for the life of the board.
    if (unsigned corrected_rows = 0, uncorrected_rows = 0, pending = 0, failed = 0;
        nvml().remapped_rows != nullptr &&
        nvml().remapped_rows(gpu_, &corrected_rows, &uncorrected_rows, &pending, &failed) == 0) {
      health.values["rows_remapped_corrected"] = corrected_rows;
      health.values["rows_remapped_uncorrected"] = uncorrected_rows;
      health.values["remapping_pending"] = pending;
      health.values["remapping_failed"] = failed;
    }
    if (NvmlSpareRows banks; nvml().spare_rows != nullptr && nvml().spare_rows(gpu_, &banks) == 0) {
      health.values["banks_with_few_spare_rows"] = banks.low;
      health.values["banks_without_spare_rows"] = banks.none;
    }
    for (unsigned link = 0, active = 0; link < most_links; ++link)
      if (nvml().link_active != nullptr && nvml().link_active(gpu_, link, &active) == 0)
        health.values["nvlinks_active"] += active != 0 ? 1 : 0;
  }

  NvmlDevice gpu_;
  std::string address_;
  std::vector<Counter> counters_;
  NvmlEventSet events_ = nullptr;
  std::map<std::string, double> xids_;
  std::mutex mutex_;
};

}  // namespace

std::optional<DeviceHealth> CudaDevice::health() {
  // Never destroyed: a thread that NVML does not answer may still use them.
  static auto& readers = *new std::map<std::string, std::unique_ptr<HealthReader>>;
  // Every call of NVML runs inside nvml_answers(), even opening it: any call may hang.
  const auto answer = std::make_shared<std::optional<DeviceHealth>>();
  const bool answered = nvml_answers([answer, address = facts_.pci_address] {
    const Result<NvmlDevice> gpu = nvml_device(address);
    if (std::holds_alternative<Unsupported>(gpu)) return;
    std::unique_ptr<HealthReader>& reader = readers[address];
    if (reader == nullptr)
      reader = std::make_unique<HealthReader>(std::get<NvmlDevice>(gpu), address);
    *answer = reader->read();
  });
  if (!answered)
    return DeviceHealth{.device = "GPU " + facts_.pci_address,
                        .lost = "NVML has not answered for 5 s"};
  const std::optional<DeviceHealth>& health = *answer;
  const bool any = health && (!health->values.empty() || !health->errors.empty() ||
                              !health->corrected.empty() || !health->lost.empty());
  return any ? health : std::nullopt;
}

}  // namespace assay::cuda
