#pragma once
// The health of a device: counters of errors, and the state of its links and spare parts.

#include <map>
#include <optional>
#include <string>

namespace assay {

/// One reading. A value that a device does not report is absent. A device always reports the same
/// counters, so a counter that appears later was 0 before.
struct DeviceHealth {
  /// Identity of the device: "cpu", or the address of a GPU.
  std::string device{};
  /// States: "pcie_width", "memory_modules".
  std::map<std::string, double> values{};
  /// Errors that were counted since some time in the past, by kind and location: "ecc uncorrected
  /// dram", "xid 79". If one rises, results may be wrong.
  std::map<std::string, double> errors{};
  /// The same of errors that were corrected: "ecc corrected dram".
  std::map<std::string, double> corrected{};
  /// Why the device does not answer any more; "" if it does.
  std::string lost{};
};

/// The health of this host by the counters of Linux: memory errors of each module (EDAC), machine
/// checks, processor clocks. `root`: the folder that has /sys and /proc. Nothing if no counter can
/// be read, as in most virtual machines.
std::optional<DeviceHealth> host_health(const std::string& root = "");

}  // namespace assay
