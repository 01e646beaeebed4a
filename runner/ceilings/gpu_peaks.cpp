#include "runner/ceilings/gpu_peaks.hpp"

#include <nlohmann/json.hpp>

#include "core/base/paths.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

using nlohmann::json;

/// Null where there is none.
const json& data_sheet(const std::string& device) {
  static const json known =
      read_checked(data_folder("results-schema") / "gpu-peaks.json", "gpu-peaks");
  static const json none;
  for (const json& gpu : known.at("gpus"))
    if (device.starts_with(gpu.at("name").get_ref<const std::string&>())) return gpu;
  return none;
}

}  // namespace

std::optional<double> data_sheet_flops(const std::string& device, const std::string& precision) {
  const json& gpu = data_sheet(device);
  if (gpu.is_null() || !gpu["flops_per_s"].contains(precision)) return std::nullopt;
  return gpu["flops_per_s"][precision].get<double>();
}

std::optional<double> data_sheet_bandwidth(const std::string& device) {
  const json& gpu = data_sheet(device);
  if (gpu.is_null()) return std::nullopt;
  return gpu["bytes_per_s"].get<double>();
}

}  // namespace assay
