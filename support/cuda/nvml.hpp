#pragma once
// NVIDIA's Management Library (NVML). It is a part of the driver, so it is opened at run time. It
// is declared here from its API reference, because a toolkit may lack its header.

#include <functional>
#include <string>

#include "core/base/unsupported.hpp"

namespace assay::cuda {

using NvmlDevice = struct nvmlDevice_st*;

/// nvmlViolationTime_t.
struct NvmlViolationTime {
  unsigned long long now_us = 0, violated_ns = 0;
};

/// nvmlFieldValue_t.
struct NvmlFieldValue {
  unsigned field = 0, scope = 0;
  long long timestamp_us = 0, latency_us = 0;
  int type = 0, status = 0;
  unsigned long long value = 0;  ///< a union; if the type is not unsigned_64, its first bytes
  static constexpr int unsigned_64 = 3;
};

/// nvmlRowRemapperHistogramValues_t: the numbers of memory banks with max, high, … and no spare
/// rows left.
struct NvmlSpareRows {
  unsigned max = 0, high = 0, partial = 0, low = 0, none = 0;
};

using NvmlEventSet = struct nvmlEventSet_st*;
/// nvmlEventData_t.
struct NvmlEvent {
  NvmlDevice device = nullptr;
  unsigned long long type = 0, data = 0;
  unsigned instance = 0, compute_instance = 0;
  static constexpr unsigned long long xid = 8;  ///< event type; `data` is the Xid's number
};

/// nvmlReturn_t.
constexpr int nvml_gpu_is_lost = 15;

/// The functions of NVML that are used; null where the library lacks them. nvmlReturn_t is an
/// enumeration in which 0 is success.
struct Nvml {
  int (*init)() = nullptr;
  const char* (*text)(int status) = nullptr;
  int (*find)(const char* pci_address, NvmlDevice*) = nullptr;
  int (*index)(NvmlDevice, unsigned*) = nullptr;
  int (*energy_mj)(NvmlDevice, unsigned long long*) = nullptr;
  int (*clock_mhz)(NvmlDevice, int clock, unsigned*) = nullptr;
  int (*temperature_celsius)(NvmlDevice, int sensor, unsigned*) = nullptr;
  int (*power_mw)(NvmlDevice, unsigned*) = nullptr;
  int (*power_limit_mw)(NvmlDevice, unsigned*) = nullptr;
  int (*violation)(NvmlDevice, int policy, NvmlViolationTime*) = nullptr;
  int (*fields)(NvmlDevice, int count, NvmlFieldValue*) = nullptr;
  int (*memory_errors)(NvmlDevice, int type, int counter, int location,
                       unsigned long long*) = nullptr;
  int (*remapped_rows)(NvmlDevice, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                       unsigned* failed) = nullptr;
  int (*spare_rows)(NvmlDevice, NvmlSpareRows*) = nullptr;
  int (*pages_pending)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_generation)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_generation_max)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_width)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_width_max)(NvmlDevice, unsigned*) = nullptr;
  int (*pcie_replays)(NvmlDevice, unsigned*) = nullptr;
  int (*link_active)(NvmlDevice, unsigned link, unsigned*) = nullptr;
  int (*link_errors)(NvmlDevice, unsigned link, int counter, unsigned long long*) = nullptr;
  int (*make_events)(NvmlEventSet*) = nullptr;
  int (*watch_events)(NvmlDevice, unsigned long long types, NvmlEventSet) = nullptr;
  int (*next_event)(NvmlEventSet, NvmlEvent*, unsigned milliseconds) = nullptr;
  /// Why no GPU can be found: no library, or one without the first four functions.
  std::string problem;

  /// Empty for success.
  std::string failure(const char* call, int status) const;
};

/// The library, opened and initialised at the first call.
const Nvml& nvml();

/// The GPU with this PCI address ("0000:1b:00.0"), or NVML's reason.
Result<NvmlDevice> nvml_device(const std::string& pci_address);

/// Calls `ask` on a thread of its own, and waits for it for 5 s: a driver whose GPU hangs may never
/// answer. False if it did not answer; NVML is then never asked again. The objects that `ask` uses
/// must live as long as the process.
bool nvml_answers(const std::function<void()>& ask);

}  // namespace assay::cuda
