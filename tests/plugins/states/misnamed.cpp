// A backend that calls itself by another one's name.
#include <nlohmann/json.hpp>

#include "core/api/backend_entry.hpp"

namespace {

using namespace assay;

class Misnamed final : public Backend {
 public:
  std::string name() const override { return "reference"; }
  nlohmann::json software() const override { return nlohmann::json::object(); }
  Result<Device*> device(const Options&) override { return Unsupported{"none"}; }
  Result<std::unique_ptr<Operation>> make(const Problem&, const Options&, Communicator&) override {
    return Unsupported{"none"};
  }
  std::vector<std::string> algorithms(const std::string&) const override { return {}; }
};

Backend* create(std::string&) { return new Misnamed; }

}  // namespace

ASSAY_BACKEND(&create)
