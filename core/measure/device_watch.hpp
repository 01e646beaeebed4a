#pragma once
// States of the devices of the ranks around the timed phase. Internal to timing.cpp, but for
// compute_throttled_part().

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/api/communicator.hpp"
#include "core/api/device.hpp"
#include "core/measure/workload.hpp"

namespace assay {

class DeviceWatch {
 public:
  DeviceWatch(Workload& workload, Communicator& ranks) : workload_(workload), ranks_(ranks) {}
  /// Calls `window`, which makes runs, until on every rank three successive readings of the clock
  /// agree within 1 % or lie among the three before (a clock that swings, as at the limit of power,
  /// does not settle), or it returns false, which it does on all ranks at once. A device that tells
  /// no clock waits for nothing. Collective.
  void await_steady(const std::function<bool()>& window);
  /// Call begin() before and end() after each stretch of samples, so that neither the time nor the
  /// throttling of what is done among them counts.
  void begin() noexcept;
  void end() noexcept;
  /// row.device_state of the result's schema: that of the rank whose device was throttled most;
  /// null if no device tells anything. Collective.
  nlohmann::json summarize() const;

 private:
  std::optional<DeviceState> read() const noexcept;
  /// The last three readings; nothing of fewer.
  std::optional<bool> steady() const;
  bool swings() const;

  Workload& workload_;
  Communicator& ranks_;
  std::vector<double> clocks_;                 ///< readings while the clock was awaited
  std::optional<DeviceState> before_, after_;  ///< the first stretch, the last one
  std::optional<DeviceState> last_;            ///< before the current stretch
  std::chrono::steady_clock::time_point begun_;
  double seconds_ = 0;                                        ///< of all stretches
  std::optional<std::map<std::string, double>> throttled_s_;  ///< of all, counted in each
};

/// The part of the samples' `seconds` for which power or heat throttled the device; `throttled_s`:
/// seconds by reason.
double compute_throttled_part(double seconds, const std::map<std::string, double>& throttled_s);

}  // namespace assay
