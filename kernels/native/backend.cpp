#include "kernels/native/backend.hpp"

#include <fmt/format.h>
#include <hwy/highway.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"

namespace assay::native {

Makers& makers() {
  static Makers table;
  return table;
}

namespace {

class NativeBackend final : public HostBackend {
 public:
  NativeBackend() : HostBackend(makers()) {}
  std::string name() const override { return "native"; }
  nlohmann::json software() const override {
    return {{"highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)}};
  }
};

/// ASSAY_NATIVE_TARGET=AVX2 limits the instruction set, like ONEDNN_MAX_CPU_ISA for oneDNN. Highway
/// numbers instruction sets so that a better one has a smaller number. Returns the reason if the
/// limit is impossible.
std::string limit_target() {
  hwy::DisableTargets(0);
  const char* wanted = std::getenv("ASSAY_NATIVE_TARGET");
  if (wanted == nullptr || *wanted == '\0') return "";
  std::vector<std::string> known;
  for (std::int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    known.emplace_back(hwy::TargetName(target));
    if (known.back() != wanted) continue;
    hwy::DisableTargets(target - 1);
    return "";
  }
  return fmt::format(
      "ASSAY_NATIVE_TARGET={} is not an instruction set of this processor. Use one of {}.", wanted,
      fmt::join(known, ", "));
}

Backend* create(std::string& reason) {
  reason = limit_target();
  return reason.empty() ? new NativeBackend : nullptr;
}

}  // namespace
}  // namespace assay::native

ASSAY_BACKEND(&assay::native::create)
