// A fake NVIDIA Management Library: the GPUs of the fake CUDA runtime (cudart.cpp), by their PCI
// addresses, with a counter of energy that grows with time and shows itself in steps.
//
//   FAKE_NVML_WATTS=N        the power of each (default 100)
//   FAKE_NVML_UPDATE_MS=N    its steps (default 1)
//   FAKE_NVML_STATUS=N       what the counter returns instead (3: not supported)
//   FAKE_NVML_FROM=N         number of the GPU 0 of CUDA (default 0): others are hidden from it
//   FAKE_NVML_RAMP=N         its clock rises to 1980 MHz with the first N readings (default 0)
//   FAKE_NVML_UNSTEADY=1     its clock is another one at each reading
//   FAKE_NVML_THROTTLED=R=X,... parts of all time for which limits hold the clock down (power=0.2);
//   other
//                            reasons have 0
//   FAKE_NVML_THROTTLE_UNIT=N nanoseconds of a count (default 1, as documented)
//   FAKE_NVML_STATE=N        what all functions of its state return instead (3: not supported)
//   FAKE_NVML_ECC=P=N+R,...  errors of a place, "uncorrected dram=5+1": 5 at the first reading, one
//                            more at each later one (-: less); others have 0, without it none is
//                            told
//   FAKE_NVML_REMAPPED=C,U,P,F rows remapped after corrected and uncorrected errors, pending,
//   failed FAKE_NVML_WIDTH=N        lanes of its PCIe link (default 16, of 16) FAKE_NVML_XID=N an
//   event from the second reading on; after 79 the GPU is lost FAKE_NVML_HANGS=1        from the
//   second reading on errors are never told
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

double number(const char* name, double otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtod(text, nullptr);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int state_status() { return static_cast<int>(number("FAKE_NVML_STATE", 0)); }

/// Nanoseconds for which a limit has held the clock down.
unsigned long long throttled_ns(const std::string& reason) {
  const char* const text = std::getenv("FAKE_NVML_THROTTLED");
  const std::string parts = "," + std::string(text == nullptr ? "" : text);
  const std::size_t at = parts.find("," + reason + "=");
  if (at == std::string::npos) return 0;
  const double part = std::strtod(parts.c_str() + at + reason.size() + 2, nullptr);
  return static_cast<unsigned long long>(1e9 * part * seconds_now() /
                                         number("FAKE_NVML_THROTTLE_UNIT", 1));
}

/// Readings of health so far: each begins with the counter of corrected errors of the L1 cache, and
/// the first two are of one reading (which counters there are).
int readings_of_health = 0;
double reading() { return readings_of_health < 3 ? 0 : readings_of_health - 2; }

int told(unsigned* value, double tells) {
  if (state_status() != 0) return state_status();
  *value = static_cast<unsigned>(tells);
  return 0;
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
  const double now = seconds_now();
  *millijoules = static_cast<unsigned long long>(1e3 * number("FAKE_NVML_WATTS", 100) * step *
                                                 std::floor(now / step));
  return 0;
}

int nvmlDeviceGetClockInfo(nvmlDevice_st*, int clock, unsigned* megahertz) {
  if (clock != 1) return told(megahertz, clock == 2 ? 2619 : 0);
  static double readings = 0;
  readings += 1;
  const double ramp = number("FAKE_NVML_RAMP", 0);
  const bool swings = number("FAKE_NVML_UNSTEADY", 0) > 0 && std::fmod(readings, 2) == 0;
  return told(megahertz, swings            ? 1400
                         : readings < ramp ? 345 + (1980 - 345) * readings / ramp
                                           : 1980);
}
int nvmlDeviceGetTemperature(nvmlDevice_st*, int, unsigned* celsius) { return told(celsius, 41); }
int nvmlDeviceGetPowerUsage(nvmlDevice_st*, unsigned* milliwatts) {
  return told(milliwatts, 1e3 * number("FAKE_NVML_WATTS", 100));
}
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_st*, unsigned* milliwatts) {
  return told(milliwatts, 700e3);
}

struct nvmlViolationTime_t {
  unsigned long long referenceTime, violationTime;
};
int nvmlDeviceGetViolationStatus(nvmlDevice_st*, int policy, nvmlViolationTime_t* time) {
  static const char* const reasons[] = {"power",       "heat", "sync",
                                        "board limit", "idle", "reliability"};
  if (state_status() != 0) return state_status();
  if (policy < 0 || policy > 5) return 2;  // an invalid argument
  *time = {static_cast<unsigned long long>(1e6 * seconds_now()), throttled_ns(reasons[policy])};
  return 0;
}

struct nvmlFieldValue_t {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;
  int valueType, nvmlReturn;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(nvmlDevice_st*, int count, nvmlFieldValue_t* values) {
  if (state_status() != 0) return state_status();
  for (int i = 0; i < count; ++i) {
    values[i].valueType = 3;  // unsigned long long
    values[i].nvmlReturn = values[i].fieldId == 252 || values[i].fieldId == 253 ? 0 : 3;
    values[i].value = throttled_ns(values[i].fieldId == 252 ? "hardware heat" : "power brake");
  }
  return 0;
}

int nvmlDeviceGetMemoryErrorCounter(nvmlDevice_st*, int type, int counter, int location,
                                    unsigned long long* count) {
  static const char* const places[] = {"l1",  "l2",  "dram", "registers",
                                       "tex", "shm", "cbu",  "sram"};
  if (type == 0 && location == 0) ++readings_of_health;
  const char* const text = std::getenv("FAKE_NVML_ECC");
  if (text == nullptr || counter != 0) return 3;
  if (reading() > 0 && number("FAKE_NVML_HANGS", 0) > 0)
    std::this_thread::sleep_for(std::chrono::hours(1));
  if (reading() > 0 && number("FAKE_NVML_XID", 0) == 79) return 15;
  const std::string name =
      std::string(type == 0 ? ",corrected " : ",uncorrected ") + places[location] + "=";
  const std::string all = "," + std::string(text);
  const std::size_t at = all.find(name);
  *count = 0;
  if (at == std::string::npos) return 0;
  char* end = nullptr;
  const double begun = std::strtod(all.c_str() + at + name.size(), &end);
  *count = static_cast<unsigned long long>(begun + reading() * std::strtod(end, nullptr));
  return 0;
}

int nvmlDeviceGetRemappedRows(nvmlDevice_st*, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  const char* const text = std::getenv("FAKE_NVML_REMAPPED");
  if (text == nullptr) return 3;
  return std::sscanf(text, "%u,%u,%u,%u", corrected, uncorrected, pending, failed) == 4 ? 0 : 2;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_st*, unsigned* lanes) {
  return told(lanes, number("FAKE_NVML_WIDTH", 16));
}
int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_st*, unsigned* lanes) { return told(lanes, 16); }
/// FAKE_NVML_GENERATION=N: of its PCIe link; it tells none without.
int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_st*, unsigned* generation) {
  const double told_one = number("FAKE_NVML_GENERATION", 0);
  return told_one > 0 ? told(generation, told_one) : 3;
}

struct nvmlEventSet_st {};
struct nvmlEventData_t {
  nvmlDevice_st* device;
  unsigned long long type, data;
  unsigned instance, compute_instance;
};
int nvmlEventSetCreate(nvmlEventSet_st** set) {
  static nvmlEventSet_st only;
  *set = &only;
  return 0;
}
int nvmlDeviceRegisterEvents(nvmlDevice_st*, unsigned long long types, nvmlEventSet_st*) {
  return types == 8 ? 0 : 2;
}
int nvmlEventSetWait_v2(nvmlEventSet_st*, nvmlEventData_t* event, unsigned milliseconds) {
  static int told_of = 0;
  const double xid = number("FAKE_NVML_XID", 0);
  if (xid == 0 || reading() == 0 || told_of > 0 || milliseconds > 0) return 10;  // a time limit
  ++told_of;
  *event = {nullptr, 8, static_cast<unsigned long long>(xid), 0, 0};
  return 0;
}

}  // extern "C"
