#include "kernels/reference/backend.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"

namespace assay::reference {

Makers& makers() {
  static Makers table;
  return table;
}

namespace {

class ReferenceBackend final : public MakerBackend {
 public:
  ReferenceBackend() : MakerBackend(makers()) {}
  std::string name() const override { return "reference"; }
  nlohmann::json software() const override {
    return nlohmann::json::object();
  }  // no library but Assay's own

  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu")
      return Unsupported{fmt::format(
          "reference has no device '{}' (it computes on the processor). Use cpu.", wanted)};
    return &device_;
  }

 private:
  HostDevice device_;
};

Backend* create(std::string&) { return new ReferenceBackend; }

}  // namespace
}  // namespace assay::reference

ASSAY_BACKEND(&assay::reference::create)
