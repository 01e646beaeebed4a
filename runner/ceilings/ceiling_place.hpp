#pragma once
// The backend and the device that measure a row's ceilings, and the device's data sheet.

#include <compare>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/api/ceiling_problem.hpp"
#include "core/result/run_result.hpp"

namespace assay {

/// The backend and device that measure a ceiling. ceiling_backend() measures the ceilings of the
/// processor for all backends. The row's own backend measures those of another device, because no
/// other backend is known to use that device.
struct CeilingPlace {
  std::string backend, device;
  auto operator<=>(const CeilingPlace&) const = default;
  bool is_processor() const { return device == "cpu"; }
};

inline CeilingPlace ceiling_place(const std::string& backend, const std::string& device) {
  return device == "cpu" ? CeilingPlace{ceiling_backend(), device} : CeilingPlace{backend, device};
}
inline CeilingPlace ceiling_place(const Row& row) {
  const std::string device = row.parameter("device");
  return ceiling_place(row.parameter("backend"), device.empty() ? "cpu" : device);
}

/// The software that a backend reports in an environment: {"gpu": name of its device, "l2_bytes",
/// …}; empty if it reports none.
inline nlohmann::json backend_software(const CeilingPlace& place,
                                       const ResultEnvironment& environment) {
  return environment.software.value("libraries", nlohmann::json::object())
      .value(place.backend, nlohmann::json::object());
}
/// The name of the backend's device; "" if it has none.
inline std::string device_name(const nlohmann::json& software) {
  const nlohmann::json name = software.value("gpu", nlohmann::json());
  return name.is_string() ? name.get<std::string>() : "";
}

/// Peak FLOP/s of a device in a precision; nothing if the device is unknown, or if its data sheet
/// lacks this precision.
std::optional<double> data_sheet_flops(const std::string& device, const std::string& precision);
/// Memory bandwidth in bytes per second; nothing if the device is unknown.
std::optional<double> data_sheet_bandwidth(const std::string& device);

}  // namespace assay
