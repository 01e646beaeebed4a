#include "support/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

namespace assay::cuda {
namespace {

template <class Function>
void take(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Nvml open_nvml() {
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
  take(library, "nvmlDeviceGetMemoryErrorCounter", nvml.memory_errors);
  take(library, "nvmlDeviceGetRemappedRows", nvml.remapped_rows);
  take(library, "nvmlDeviceGetRowRemapperHistogram", nvml.spare_rows);
  take(library, "nvmlDeviceGetRetiredPagesPendingStatus", nvml.pages_pending);
  take(library, "nvmlDeviceGetCurrPcieLinkGeneration", nvml.pcie_generation);
  take(library, "nvmlDeviceGetMaxPcieLinkGeneration", nvml.pcie_generation_max);
  take(library, "nvmlDeviceGetCurrPcieLinkWidth", nvml.pcie_width);
  take(library, "nvmlDeviceGetMaxPcieLinkWidth", nvml.pcie_width_max);
  take(library, "nvmlDeviceGetPcieReplayCounter", nvml.pcie_replays);
  take(library, "nvmlDeviceGetNvLinkState", nvml.link_active);
  take(library, "nvmlDeviceGetNvLinkErrorCounter", nvml.link_errors);
  take(library, "nvmlEventSetCreate", nvml.make_events);
  take(library, "nvmlDeviceRegisterEvents", nvml.watch_events);
  take(library, "nvmlEventSetWait_v2", nvml.next_event);
  if (nvml.problem.empty()) nvml.problem = nvml.failure("nvmlInit", nvml.init());
  return nvml;
}

}  // namespace

std::string Nvml::failure(const char* call, int status) const {
  return status == 0 ? "" : fmt::format("{} failed (NVML: {})", call, text(status));
}

const Nvml& nvml() {
  static const Nvml library = open_nvml();
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

bool nvml_answers(const std::function<void()>& ask) {
  static std::atomic<bool> hangs{false};
  if (hangs) return false;
  const auto done = std::make_shared<std::promise<void>>();
  std::future<void> answer = done->get_future();
  std::thread([ask, done] {
    ask();
    done->set_value();
  }).detach();
  if (answer.wait_for(std::chrono::seconds(5)) == std::future_status::ready) return true;
  hangs = true;
  return false;
}

}  // namespace assay::cuda
