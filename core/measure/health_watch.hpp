#pragma once
// Finds errors that devices counted, and devices that were lost, while a case was prepared,
// verified, measured and burnt in. Internal to run_case.cpp.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/api/communicator.hpp"
#include "core/machine/health.hpp"
#include "core/measure/workload.hpp"

namespace assay {

class HealthWatch {
 public:
  /// Reads the health of this rank's device.
  HealthWatch(Workload& workload, Communicator& ranks);
  /// Reads it again. Returns why results cannot be trusted: since then, this rank's device has
  /// counted errors (with kind and place), was lost, or stopped reporting a counter. "" if they
  /// can.
  std::string end();
  /// row.device_health of the result's schema: one entry for each device of the ranks. Empty before
  /// end(). Collective.
  nlohmann::json summarize() const;

 private:
  std::optional<DeviceHealth> read() const;

  Workload& workload_;
  Communicator& ranks_;
  std::optional<DeviceHealth> before_, after_;
};

}  // namespace assay
