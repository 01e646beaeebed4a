#include "kernels/reference/backend.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "kernels/reference/plain_operation.hpp"

namespace assay::reference {

Makers& makers() {
  static Makers table;
  return table;
}

std::optional<std::string> why_not_direct(const Options& options) {
  const std::string algorithm = options.get("algorithm", "auto");
  if (algorithm == "auto" || algorithm == "direct") return std::nullopt;
  return fmt::format("reference has no algorithm {} (it only computes direct). Use direct.",
                     algorithm);
}

std::optional<std::string> why_not_nchw(const Options& options) {
  const std::string layout = options.get("layout", "any");
  if (auto why = why_not_direct(options)) return why;
  if (layout == "any" || layout == "nchw") return std::nullopt;
  return fmt::format("reference has no layout {}. Use any or nchw.", layout);
}

namespace {

class ReferenceBackend final : public HostBackend {
 public:
  ReferenceBackend() : HostBackend(makers()) {}
  std::string name() const override { return "reference"; }
  nlohmann::json software() const override {
    return nlohmann::json::object();
  }  // no library but Assay's own
};

Backend* create(std::string&) { return new ReferenceBackend; }

}  // namespace
}  // namespace assay::reference

ASSAY_BACKEND(&assay::reference::create)
