#include "support/cuda/energy.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "support/cuda/nvml.hpp"

namespace assay::cuda {
namespace {

double read_joules(NvmlDevice gpu) {
  unsigned long long millijoules = 0;
  const std::string failure =
      nvml().failure("nvmlDeviceGetTotalEnergyConsumption", nvml().energy_mj(gpu, &millijoules));
  if (!failure.empty()) throw CaseError(failure);
  return static_cast<double>(millijoules) * 1e-3;
}

class GpuMeter final : public EnergyMeter {
 public:
  GpuMeter(NvmlDevice gpu, unsigned index)
      : EnergyMeter({{fmt::format("gpu {}", index)}}), gpu_(gpu) {}
  std::vector<double> read() const override { return {read_joules(gpu_)}; }

 private:
  NvmlDevice gpu_;
};

}  // namespace

Result<std::unique_ptr<EnergyMeter>> open_gpu_energy(const std::string& pci_address) {
  const Result<NvmlDevice> device = nvml_device(pci_address);
  if (const auto* const refusal = std::get_if<Unsupported>(&device)) return *refusal;
  const NvmlDevice gpu = std::get<NvmlDevice>(device);
  if (nvml().energy_mj == nullptr)
    return Unsupported{"NVML has no nvmlDeviceGetTotalEnergyConsumption"};
  unsigned index = 0;
  const std::string failure = nvml().failure("nvmlDeviceGetIndex", nvml().index(gpu, &index));
  if (!failure.empty()) return Unsupported{failure};
  try {
    read_joules(gpu);
  } catch (const CaseError& error) {
    return Unsupported{error.what()};
  }
  return std::unique_ptr<EnergyMeter>(std::make_unique<GpuMeter>(gpu, index));
}

}  // namespace assay::cuda
