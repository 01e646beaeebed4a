#include "kernels/reference/backend.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/host_device.hpp"

namespace assay::reference {

Makers& makers() {
  static Makers table;
  return table;
}

namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string name() const override { return "reference"; }
  nlohmann::json software() const override {
    return nlohmann::json::object();
  }  // no library but Assay's own

  Made<Device*> device(const Options& options) override {
    const std::string wanted = options.get("device", "cpu");
    if (wanted != "cpu")
      return Unsupported{fmt::format(
          "reference has no device '{}' (it computes on the processor). Use cpu.", wanted)};
    return &device_;
  }

  Made<std::unique_ptr<Operation>> make(const Problem& problem, const Options& options,
                                        Communicator& ranks) override {
    const auto found = makers().find(problem.kind());
    if (found == makers().end())
      return Unsupported{fmt::format("reference has no {}", problem.kind())};
    Made<Device*> place = device(options);
    if (const auto* no = std::get_if<Unsupported>(&place)) return *no;
    return found->second.make(*std::get<Device*>(place), problem, options, ranks);
  }

  std::vector<std::string> algorithms(const std::string& kind) const override {
    const auto found = makers().find(kind);
    return found == makers().end() ? std::vector<std::string>{} : found->second.algorithms;
  }

 private:
  HostDevice device_;
};

Backend* create(std::string&) { return new ReferenceBackend; }

}  // namespace
}  // namespace assay::reference

ASSAY_BACKEND(&assay::reference::create)
