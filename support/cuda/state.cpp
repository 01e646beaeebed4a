// The state of a GPU, by NVML.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "support/cuda/device.hpp"
#include "support/cuda/nvml.hpp"

namespace assay::cuda {
namespace {

constexpr int clock_sm = 1, clock_memory = 2;  // nvmlClockType_t
constexpr int sensor_gpu = 0;                  // nvmlTemperatureSensors_t

/// `unit` times the value that a function of NVML returns; nothing if the function is missing or
/// fails.
template <class Function, class... Arguments>
std::optional<double> ask_nvml(double unit, Function function, Arguments... arguments) {
  unsigned value = 0;
  if (function == nullptr || function(arguments..., &value) != 0) return std::nullopt;
  return unit * value;
}

/// nvmlPerfPolicyType_t: how long such a limit kept the clock below the requested one. The omitted
/// policies show no fault of the board or its cooling: synchronous boost, an idle GPU, and sums.
struct Policy {
  int type;
  const char* reason;
};
constexpr std::array policies{Policy{0, "power"}, Policy{1, "heat"}, Policy{3, "board limit"},
                              Policy{5, "reliability"}};

/// NVML_FI_DEV_CLOCKS_EVENT_REASON_*: nanoseconds, in recent drivers only. According to NVML's
/// reference, the policies long did not count thermal capping, so heat is also read here.
struct Field {
  unsigned id;
  const char* reason;
};
constexpr std::array counters{Field{251, "heat"}, Field{252, "hardware heat"},
                              Field{253, "power brake"}};

std::map<std::string, double> read_throttled(NvmlDevice gpu) {
  std::map<std::string, double> seconds;
  if (nvml().violation != nullptr)
    for (const Policy& policy : policies)
      if (NvmlViolationTime time; nvml().violation(gpu, policy.type, &time) == 0)
        seconds[policy.reason] = 1e-9 * static_cast<double>(time.violated_ns);
  if (nvml().fields == nullptr) return seconds;
  std::array<NvmlFieldValue, counters.size()> values{};
  for (std::size_t i = 0; i < counters.size(); ++i) values[i].field = counters[i].id;
  if (nvml().fields(gpu, static_cast<int>(values.size()), values.data()) != 0) return seconds;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (values[i].status != 0 || values[i].type != NvmlFieldValue::unsigned_64) continue;
    // One reason has two counters. A caller takes differences of their maximum, which never exceed
    // the larger difference of the two counters.
    double& sum = seconds[counters[i].reason];
    sum = std::max(sum, 1e-9 * static_cast<double>(values[i].value));
  }
  return seconds;
}

}  // namespace

std::optional<DeviceState> CudaDevice::state() {
  const auto answer = std::make_shared<DeviceState>();
  const bool answered = nvml_answers([answer, address = facts_.pci_address] {
    const Result<NvmlDevice> device = nvml_device(address);
    if (std::holds_alternative<Unsupported>(device)) return;
    const NvmlDevice gpu = std::get<NvmlDevice>(device);
    answer->clock_hz = ask_nvml(1e6, nvml().clock_mhz, gpu, clock_sm);
    answer->memory_clock_hz = ask_nvml(1e6, nvml().clock_mhz, gpu, clock_memory);
    answer->temperature_celsius = ask_nvml(1, nvml().temperature_celsius, gpu, sensor_gpu);
    answer->power_w = ask_nvml(1e-3, nvml().power_mw, gpu);
    answer->power_limit_w = ask_nvml(1e-3, nvml().power_limit_mw, gpu);
    answer->throttled_s = read_throttled(gpu);
  });
  if (!answered) return std::nullopt;
  const DeviceState& state = *answer;
  const bool any = state.clock_hz || state.memory_clock_hz || state.temperature_celsius ||
                   state.power_w || state.power_limit_w || !state.throttled_s.empty();
  return any ? std::optional(state) : std::nullopt;
}

}  // namespace assay::cuda
