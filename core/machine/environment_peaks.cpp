// Theoretical peaks: highest clock x cores x units x lanes. A peak is given only if the maker
// documents the processor's units and the machine reports its clock: with a guessed peak, every
// efficiency would be wrong.

#include <fmt/format.h>

#include <array>

#include "core/base/numbers.hpp"
#include "core/machine/environment_parts.hpp"

namespace assay::environment {
namespace {

using nlohmann::json;

/// Multiply-add units of a core and their width. Tile units (AMX) multiply 16 x 32 by 32 x 16
/// elements of bf16, or twice as many of int8, in 16 cycles: 512 and 1024 multiply-adds a cycle
/// (measured: 97 % of it, kernels/native/stream_tiles.cpp).
struct Units {
  int count = 0, bits = 0;
  bool tiles = false;
};

/// x86 by CPUID family and model, from Intel's and AMD's optimization manuals.
struct X86 {
  const char* vendor;
  int family, first, last;  ///< models
  Units units;
};
constexpr std::array x86{
    X86{"GenuineIntel", 6, 63, 63, {2, 256}},          // Haswell-EP
    X86{"GenuineIntel", 6, 79, 79, {2, 256}},          // Broadwell-EP
    X86{"GenuineIntel", 6, 86, 86, {2, 256}},          // Broadwell-DE
    X86{"GenuineIntel", 6, 106, 106, {2, 512}},        // Ice Lake-SP
    X86{"GenuineIntel", 6, 108, 108, {2, 512}},        // Ice Lake-D
    X86{"GenuineIntel", 6, 143, 143, {2, 512, true}},  // Sapphire Rapids
    X86{"GenuineIntel", 6, 173, 173, {2, 512, true}},  // Granite Rapids
    X86{"GenuineIntel", 6, 207, 207, {2, 512, true}},  // Emerald Rapids
    X86{"AuthenticAMD", 23, 0x00, 0x2f, {2, 128}},     // Zen, Zen+
    X86{"AuthenticAMD", 23, 0x30, 0xff, {2, 256}},     // Zen 2
    X86{"AuthenticAMD", 25, 0x00, 0xff, {2, 256}},     // Zen 3; Zen 4 halves 512 bits
    X86{"AuthenticAMD", 26, 0x00, 0x1f, {2, 512}}};    // Zen 5 (EPYC 9005)
constexpr int skylake_sp = 85;  // to Cooper Lake: one or two units of 512 bits, by product

/// Arm by implementer and part as /proc/cpuinfo has them, from Arm's and Fujitsu's optimization
/// guides.
struct Arm {
  const char *implementer, *part;
  Units units;
};
constexpr std::array arm{Arm{"0x41", "0xd0c", {2, 128}},   // Neoverse N1
                         Arm{"0x41", "0xd40", {2, 256}},   // Neoverse V1
                         Arm{"0x41", "0xd49", {2, 128}},   // Neoverse N2
                         Arm{"0x41", "0xd4f", {4, 128}},   // Neoverse V2
                         Arm{"0x46", "0x001", {2, 512}}};  // A64FX

std::string id(const json& hardware, const char* key) {
  const json ids = hardware.value("processor_ids", json());
  return ids.is_object() ? ids.value(key, "") : "";
}

/// The number of units, or `why` it is not known.
Units find_units(const json& hardware, std::string& why) {
  const std::string vendor = id(hardware, "vendor_id");
  if (!vendor.empty()) {
    const std::string family_text = id(hardware, "cpu family"), model_text = id(hardware, "model");
    const int family = parse_number<int>(family_text).value_or(-1),
              model = parse_number<int>(model_text).value_or(-1);
    for (const X86& model_range : x86)
      if (vendor == model_range.vendor && family == model_range.family &&
          model >= model_range.first && model <= model_range.last)
        return model_range.units;
    const std::string name = hardware.value("processor", json()).is_string()
                                 ? hardware["processor"].get<std::string>()
                                 : "";
    if (vendor == "GenuineIntel" && family == 6 && model == skylake_sp) {
      for (const char* two : {"Platinum", "Gold 6"})
        if (name.find(two) != std::string::npos) return {2, 512};
      why = fmt::format("'{}' may have one or two units of 512 bits", name);
      return {};
    }
    why = fmt::format("the units of {} family {} model {} are not known here", vendor, family_text,
                      model_text);
    return {};
  }
  const std::string implementer = id(hardware, "CPU implementer"), part = id(hardware, "CPU part");
  for (const Arm& core_type : arm)
    if (implementer == core_type.implementer && part == core_type.part) return core_type.units;
  why = implementer.empty() ? "the processor does not report its model"
                            : fmt::format("the units of implementer {} part {} are not known here",
                                          implementer, part);
  return {};
}

}  // namespace

json compute_theoretical_peaks(const json& hardware) {
  json flops = {{"fp64", nullptr}, {"fp32", nullptr}, {"bf16", nullptr}, {"int8", nullptr}};
  json peaks = {
      {"flops_per_s", flops},
      {"bytes_per_s", nullptr},
      {"basis", nullptr},
      {"reasons",
       {{"bytes_per_s", "only root can read the number and speed of the memory channels in use"}}}};
  const auto none = [&](const std::string& why) {
    peaks["reasons"]["flops_per_s"] = why;
    return peaks;
  };
  // A hypervisor may show any model, and shows no clock.
  if (hardware.value("virtual_machine", json()) == true)
    return none("virtual machines do not report model and clock reliably");
  const json clock = hardware.value("max_clock_hz", json()),
             cores = hardware.value("cores", json());
  if (!clock.is_number()) return none("the highest clock is not known (no cpufreq)");
  if (!cores.is_number()) return none("the number of cores is not known");
  std::string why;
  const Units units = find_units(hardware, why);
  if (units.count == 0) return none(why);
  const double hz = clock, number = cores;
  // A multiply-add is two operations.
  const auto rate = [&](int multiply_adds) { return 2 * multiply_adds * number * hz; };
  peaks["flops_per_s"]["fp64"] = rate(units.count * (units.bits / 64));
  peaks["flops_per_s"]["fp32"] = rate(units.count * (units.bits / 32));
  peaks["basis"] = fmt::format("{} cores x {} units of {} bits x {:.3g} GHz, the highest clock",
                               number, units.count, units.bits, hz * 1e-9);
  if (units.tiles) {
    peaks["flops_per_s"]["bf16"] = rate(512);
    peaks["flops_per_s"]["int8"] = rate(1024);
  } else {
    for (const char* precision : {"bf16", "int8"})
      peaks["reasons"][precision] = "the rate of its dot products is not known here";
  }
  return peaks;
}

}  // namespace assay::environment
