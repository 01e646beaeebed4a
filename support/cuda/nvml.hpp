#pragma once
// NVIDIA's Management Library (NVML). It comes with the driver: it is opened at run time, and
// declared here by its API reference, since a toolkit may lack its header.

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
  unsigned long long value = 0;  ///< a union: of other types than unsigned_64 its first bytes
  static constexpr int unsigned_64 = 3;
};

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
  /// Why no GPU can be found: no library, or one without the first four functions.
  std::string problem;

  /// Empty for success.
  std::string failure(const char* call, int status) const;
};

/// The library, opened and initialised at the first call.
const Nvml& nvml();

/// The GPU with this PCI address ("0000:1b:00.0"), or NVML's reason.
Result<NvmlDevice> nvml_device(const std::string& pci_address);

}  // namespace assay::cuda
