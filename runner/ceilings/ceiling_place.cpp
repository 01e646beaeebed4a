#include "runner/ceilings/ceiling_place.hpp"

#include <map>
#include <vector>

#include "core/base/json_fields.hpp"
#include "core/base/paths.hpp"
#include "core/result/schema.hpp"

namespace assay {
namespace {

/// The data sheet of a GPU.
struct GpuPeaks {
  std::string name{};
  std::map<std::string, double> flops_per_s{};  ///< by precision
  double bytes_per_s = 0;
};

void visit_fields(SameAs<GpuPeaks> auto& gpu, auto& fields) {
  fields.always("name", gpu.name, "flops_per_s", gpu.flops_per_s, "bytes_per_s", gpu.bytes_per_s);
}

const GpuPeaks* find_data_sheet(const std::string& device) {
  static const std::vector<GpuPeaks> sheets = [] {
    std::vector<GpuPeaks> all;
    const auto file = data_folder("results-schema") / "gpu-peaks.json";
    fields::Form<std::vector<GpuPeaks>>::read(read_checked(file, "gpu-peaks")["gpus"], all);
    return all;
  }();
  for (const GpuPeaks& gpu : sheets)
    if (device.starts_with(gpu.name)) return &gpu;
  return nullptr;
}

}  // namespace

std::optional<double> data_sheet_flops(const std::string& device, const std::string& precision) {
  const GpuPeaks* gpu = find_data_sheet(device);
  if (gpu == nullptr || !gpu->flops_per_s.contains(precision)) return std::nullopt;
  return gpu->flops_per_s.at(precision);
}

std::optional<double> data_sheet_bandwidth(const std::string& device) {
  const GpuPeaks* gpu = find_data_sheet(device);
  return gpu == nullptr ? std::nullopt : std::optional(gpu->bytes_per_s);
}

}  // namespace assay
