#include "support/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace assay::cuda {
namespace {

template <class Function>
void take(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Nvml opened() {
  Nvml nvml;
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    nvml.problem = dlerror();
    return nvml;
  }
  const auto need = [&](const char* name, auto& function) {
    take(library, name, function);
    if (function == nullptr) nvml.problem = fmt::format("NVML has no {}", name);
  };
  need("nvmlInit_v2", nvml.init);
  need("nvmlErrorString", nvml.text);
  need("nvmlDeviceGetHandleByPciBusId_v2", nvml.find);
  need("nvmlDeviceGetIndex", nvml.index);
  take(library, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy_mj);
  take(library, "nvmlDeviceGetClockInfo", nvml.clock_mhz);
  take(library, "nvmlDeviceGetTemperature", nvml.temperature_celsius);
  take(library, "nvmlDeviceGetPowerUsage", nvml.power_mw);
  take(library, "nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit_mw);
  take(library, "nvmlDeviceGetViolationStatus", nvml.violation);
  take(library, "nvmlDeviceGetFieldValues", nvml.fields);
  if (nvml.problem.empty()) nvml.problem = nvml.failure("nvmlInit", nvml.init());
  return nvml;
}

}  // namespace

std::string Nvml::failure(const char* call, int status) const {
  return status == 0 ? "" : fmt::format("{} failed (NVML: {})", call, text(status));
}

const Nvml& nvml() {
  static const Nvml library = opened();
  return library;
}

Result<NvmlDevice> nvml_device(const std::string& pci_address) {
  if (!nvml().problem.empty()) return Unsupported{nvml().problem};
  NvmlDevice gpu = nullptr;
  const std::string failure =
      nvml().failure("nvmlDeviceGetHandleByPciBusId", nvml().find(pci_address.c_str(), &gpu));
  if (!failure.empty()) return Unsupported{failure};
  return gpu;
}

}  // namespace assay::cuda
