#include "support/cuda/energy.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/base/error.hpp"

namespace assay::cuda {
namespace {

// NVIDIA Management Library, API reference: nvmlReturn_t is an enumeration in which 0 is success,
// nvmlDevice_t a pointer.
using Status = int;
using Gpu = struct nvmlDevice_st*;

struct Nvml {
  Status (*init)() = nullptr;
  const char* (*text)(Status) = nullptr;
  Status (*find)(const char* pci_address, Gpu*) = nullptr;
  Status (*index)(Gpu, unsigned*) = nullptr;
  Status (*millijoules)(Gpu, unsigned long long*) = nullptr;
  std::string problem;

  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      problem = dlerror();
      return;
    }
    take(library, "nvmlInit_v2", init);
    take(library, "nvmlErrorString", text);
    take(library, "nvmlDeviceGetHandleByPciBusId_v2", find);
    take(library, "nvmlDeviceGetIndex", index);
    take(library, "nvmlDeviceGetTotalEnergyConsumption", millijoules);
    if (problem.empty()) problem = failure("nvmlInit", init());
  }

  template <class Function>
  void take(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) problem = fmt::format("NVML has no {}", name);
  }

  /// Empty for success.
  std::string failure(const char* call, Status status) const {
    return status == 0 ? "" : fmt::format("{} failed (NVML: {})", call, text(status));
  }
};

const Nvml& nvml() {
  static const Nvml library;
  return library;
}

double joules_of(Gpu gpu) {
  unsigned long long millijoules = 0;
  const std::string failure =
      nvml().failure("nvmlDeviceGetTotalEnergyConsumption", nvml().millijoules(gpu, &millijoules));
  if (!failure.empty()) throw CaseError(failure);
  return static_cast<double>(millijoules) * 1e-3;
}

class GpuMeter final : public EnergyMeter {
 public:
  GpuMeter(Gpu gpu, unsigned index) : EnergyMeter({{fmt::format("gpu {}", index)}}), gpu_(gpu) {}
  std::vector<double> read() const override { return {joules_of(gpu_)}; }

 private:
  Gpu gpu_;
};

}  // namespace

Result<std::unique_ptr<EnergyMeter>> gpu_energy(const std::string& pci_address) {
  if (!nvml().problem.empty()) return Unsupported{nvml().problem};
  Gpu gpu = nullptr;
  unsigned index = 0;
  std::string failure =
      nvml().failure("nvmlDeviceGetHandleByPciBusId", nvml().find(pci_address.c_str(), &gpu));
  if (failure.empty()) failure = nvml().failure("nvmlDeviceGetIndex", nvml().index(gpu, &index));
  if (!failure.empty()) return Unsupported{failure};
  try {
    joules_of(gpu);
  } catch (const CaseError& error) {
    return Unsupported{error.what()};
  }
  return std::unique_ptr<EnergyMeter>(std::make_unique<GpuMeter>(gpu, index));
}

}  // namespace assay::cuda
