// A fake NVIDIA Management Library: the GPUs of the fake CUDA runtime (cudart.cpp), by their PCI
// addresses, with a counter of energy that grows with time and shows itself in steps.
//
//   FAKE_NVML_WATTS=N        the power of each (default 100)
//   FAKE_NVML_UPDATE_MS=N    its steps (default 1)
//   FAKE_NVML_STATUS=N       what the counter returns instead (3: not supported)
//   FAKE_NVML_FROM=N         number of the GPU 0 of CUDA (default 0): others are hidden from it
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

double number(const char* name, double otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtod(text, nullptr);
}

}  // namespace

extern "C" {

struct nvmlDevice_st {
  unsigned bus;
};

int nvmlInit_v2() { return 0; }
const char* nvmlErrorString(int status) {
  return status == 3 ? "fake: not supported" : status == 6 ? "fake: not found" : "fake: some error";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, nvmlDevice_st** device) {
  static nvmlDevice_st all[16];
  unsigned bus = 0;
  if (std::sscanf(address, "0000:%02x:00.0", &bus) != 1 || bus < 1 || bus > 15) return 6;
  all[bus].bus = bus;
  *device = &all[bus];
  return 0;
}
int nvmlDeviceGetIndex(nvmlDevice_st* device, unsigned* index) {
  *index = device->bus - 1 + static_cast<unsigned>(number("FAKE_NVML_FROM", 0));
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_st*, unsigned long long* millijoules) {
  const int status = static_cast<int>(number("FAKE_NVML_STATUS", 0));
  if (status != 0) return status;
  const double step = 1e-3 * number("FAKE_NVML_UPDATE_MS", 1);
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  *millijoules = static_cast<unsigned long long>(1e3 * number("FAKE_NVML_WATTS", 100) * step *
                                                 std::floor(now / step));
  return 0;
}

}  // extern "C"
