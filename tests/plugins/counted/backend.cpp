// A backend called `native` that measures nothing: it appends a line to the file ASSAY_COUNT_FILE
// for each ceiling that it is asked for. It belongs to the test tree alone.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/api/backend_entry.hpp"
#include "core/api/ceiling_problem.hpp"
#include "core/api/host_device.hpp"

namespace {

using namespace assay;

class Counted final : public Backend {
 public:
  std::string name() const override { return "native"; }
  nlohmann::json software() const override { return nlohmann::json::object(); }
  Result<Device*> device(const Options&) override { return &device_; }
  Result<std::unique_ptr<Operation>> make(const Problem& problem, const Options&,
                                          Communicator&) override {
    const auto& ceiling = problem_cast<CeilingProblem>(problem);
    std::ofstream(std::getenv("ASSAY_COUNT_FILE"), std::ios::app)
        << ceiling.canonical() << ' ' << assay::name(ceiling.precision()) << ' '
        << ceiling.threads() << '\n';
    return Unsupported{"measures nothing"};
  }
  std::vector<std::string> algorithms(const std::string&) const override { return {}; }

 private:
  HostDevice device_;
};

Backend* create(std::string&) { return new Counted; }

}  // namespace

ASSAY_BACKEND(&create)
