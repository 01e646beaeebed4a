#include "kernels/native/backend.hpp"

#include <fmt/format.h>
#include <hwy/highway.h>

#include <nlohmann/json.hpp>

#include "kernels/native/device.hpp"

namespace assay::native {

Makers& makers() {
  static Makers table;
  return table;
}

namespace {

class NativeBackend final : public MakerBackend {
 public:
  NativeBackend() : MakerBackend(makers()) {}
  std::string name() const override { return "native"; }
  nlohmann::json software() const override {
    return {{"highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)}};
  }

  Made<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu")
      return Unsupported{fmt::format(
          "native has no device '{}' (it computes on the processor). Use cpu.", wanted)};
    return &device_;
  }

 private:
  NativeDevice device_;
};

Backend* create(std::string&) { return new NativeBackend; }

}  // namespace
}  // namespace assay::native

ASSAY_BACKEND(&assay::native::create)
