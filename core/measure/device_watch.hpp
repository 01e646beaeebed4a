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
  /// Calls `window`, which makes runs, until it returns false (on all ranks at once), or until on
  /// every rank three successive readings of the clock agree within 1 % or lie within the range of
  /// the three before them (a clock that swings, as at the power limit, does not settle). Ranks
  /// whose devices report no clock do not wait. Collective.
  void await_steady(const std::function<bool()>& window);
  /// Call begin() before and end() after each stretch of samples, so that time and throttling
  /// between stretches do not count.
  void begin() noexcept;
  void end() noexcept;
  /// row.device_state of the result's schema: the state of the device that was throttled most; null
  /// if no device reports anything. Collective.
  nlohmann::json summarize() const;

 private:
  std::optional<DeviceState> read() const noexcept;
  /// True if the last three readings are steady; nothing if there are fewer.
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
