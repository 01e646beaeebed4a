#pragma once
// Where a row's ceilings are measured.

#include <compare>
#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// The backend and device that measure a ceiling. The ceilings of the processor are measured by
/// `native` for all backends; those of another device by the row's own backend, since no other
/// backend is known to use that device.
struct CeilingPlace {
  std::string backend, device;
  auto operator<=>(const CeilingPlace&) const = default;
  bool is_processor() const { return device == "cpu"; }
};

inline CeilingPlace ceiling_place(const std::string& backend, const std::string& device) {
  return device == "cpu" ? CeilingPlace{"native", device} : CeilingPlace{backend, device};
}
/// The place for a row with these "parameters".
inline CeilingPlace ceiling_place(const nlohmann::json& parameters) {
  return ceiling_place(parameters.value("backend", ""), parameters.value("device", "cpu"));
}

/// What the backend reports about its device in an environment: {"gpu": its name, "l2_bytes", …}.
inline nlohmann::json told_of(const CeilingPlace& place, const nlohmann::json& environment) {
  return environment.at("software")
      .value("libraries", nlohmann::json::object())
      .value(place.backend, nlohmann::json::object());
}
/// The device's name, or null.
inline nlohmann::json device_name(const CeilingPlace& place, const nlohmann::json& environment) {
  return told_of(place, environment).value("gpu", nlohmann::json());
}

}  // namespace assay
