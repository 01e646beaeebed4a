#pragma once
// Where a row's ceilings are measured.

#include <compare>
#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// The processor, whose ceilings `native` measures for every backend that computes on it, or a
/// device, whose ceilings the row's own backend measures: no other program drives it alike.
struct CeilingPlace {
  std::string backend, device;
  auto operator<=>(const CeilingPlace&) const = default;
  bool is_processor() const { return device == "cpu"; }
};

inline CeilingPlace ceiling_place(const std::string& backend, const std::string& device) {
  return device == "cpu" ? CeilingPlace{"native", device} : CeilingPlace{backend, device};
}
/// Of a row's "parameters".
inline CeilingPlace ceiling_place(const nlohmann::json& parameters) {
  return ceiling_place(parameters.value("backend", ""), parameters.value("device", "cpu"));
}

/// What a backend tells of its device in an environment: {"gpu": its name, "l2_bytes", …}.
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
