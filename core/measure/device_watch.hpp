#pragma once
// What the devices of the ranks tell of themselves around the timed phase. Internal to timing.cpp,
// but for throttled_part().

#include <chrono>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/device.hpp"
#include "core/measure/workload.hpp"

namespace assay {

class DeviceWatch {
 public:
  DeviceWatch(Workload& workload, Communicator& ranks) : workload_(workload), ranks_(ranks) {}
  /// Calls `window`, which makes runs, until on every rank three successive readings of the clock
  /// agree within 1 %, or it returns false, which it does on all ranks at once. A device that tells
  /// no clock waits for nothing. Collective.
  void await_steady(const std::function<bool()>& window);
  /// Call begin() before and end() after the timed phase. `seconds`: of the phase without what is
  /// done on the host among its runs.
  void begin() noexcept;
  void end(double seconds) noexcept;
  /// row.device_state of the result's schema: that of the rank whose device was throttled most;
  /// null if no device tells anything. Collective.
  nlohmann::json found() const;

 private:
  std::optional<DeviceState> read() const noexcept;
  /// The last three readings; nothing of fewer.
  std::optional<bool> steady() const;

  Workload& workload_;
  Communicator& ranks_;
  std::vector<double> clocks_;  ///< readings while the clock was awaited
  std::optional<DeviceState> before_, after_;
  std::chrono::steady_clock::time_point begun_;
  double seconds_ = 0, passed_ = 0;
};

/// The part of the timed phase for which power or heat throttled the device, by row.device_state;
/// 0 where it is not known.
double throttled_part(const nlohmann::json& device_state);

}  // namespace assay
