#include <nlohmann/json.hpp>

#include "comm/gloo/communicator.hpp"
#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "core/base/error.hpp"

namespace assay::gloo_transport {
namespace {

class GlooBackend final : public Backend {
 public:
  std::string name() const override { return "gloo"; }
  nlohmann::json software() const override {
    nlohmann::json software = {{"gloo", version()}, {"transport", "tcp"}, {"interface", nullptr}};
    if (!interface_.empty()) software["interface"] = interface_;
    return software;
  }
  Result<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu")
      return Unsupported{"gloo has no device '" + wanted + "' (this build transfers host memory)"};
    return &device_;
  }

  Result<std::unique_ptr<Communicator>> connect(const Options& options,
                                                Communicator& known) override {
    const Result<Device*> place = device(options);
    if (const auto* refusal = std::get_if<Unsupported>(&place)) return *refusal;
    interface_ = choose_interface(known);
    return std::make_unique<GlooCommunicator>(read_ranks(known, options), interface_);
  }

 private:
  HostDevice device_;
  std::string interface_;  ///< of the last connection; all have the same
};

Backend* create(std::string&) { return new GlooBackend; }

}  // namespace
}  // namespace assay::gloo_transport

ASSAY_BACKEND(&assay::gloo_transport::create)
