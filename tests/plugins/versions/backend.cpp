// A plugin of two kinds of problems, compiled by tests/scripts/test_interface_version.py against a
// copy of the headers. Its makers only say that they were called.
#include <nlohmann/json.hpp>

#include "core/api/backend_entry.hpp"
#include "core/api/host_device.hpp"
#include "kernels/conv/problem.hpp"
#include "kernels/stream/problem.hpp"

namespace {

using namespace assay;

Makers& makers() {
  static Makers all;
  return all;
}

Result<std::unique_ptr<Operation>> make_conv(Device&, const Problem& problem, const Options&,
                                             Communicator&) {
  return Unsupported{"the plugin sees " + problem_cast<ConvProblem>(problem).canonical()};
}

Result<std::unique_ptr<Operation>> make_stream(Device&, const Problem& problem, const Options&,
                                               Communicator&) {
  return Unsupported{"the plugin sees " + problem_cast<StreamProblem>(problem).canonical()};
}

const Maker add_conv{makers(), problem_kind<ConvProblem>(), &make_conv, {"direct"}};
const Maker add_stream{makers(), problem_kind<StreamProblem>(), &make_stream, {"regular"}};

class Versions final : public MakerBackend {
 public:
  Versions() : MakerBackend(makers()) {}
  std::string name() const override { return "versions"; }
  nlohmann::json software() const override { return nlohmann::json::object(); }
  Result<Device*> device(const Options&) override { return &device_; }

 private:
  HostDevice device_;
};

Backend* create(std::string&) { return new Versions; }

}  // namespace

ASSAY_BACKEND(&create)
