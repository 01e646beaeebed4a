// library: whatever the transport's own calls choose.
#include "comm/algorithms/algorithm.hpp"
#include "comm/forwarding.hpp"
#include "comm/reduce.hpp"
#include "comm/stream_order.hpp"

namespace assay {

namespace {

class LibraryCalls final : public ForwardingCommunicator, public StreamOrder {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  bool order(const Request& request, Stream& stream) override {
    return assay::order(under(), request, stream);
  }
};

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&, const Options&) {
  return std::make_unique<LibraryCalls>(transport);
}

}  // namespace

AlgorithmEntry library_algorithm() {
  return {"library", "the transport's own calls, with the algorithm of its choice", &make};
}

void describe_own(const std::string& how, const Call& call, Execution& execution) {
  execution.implementation = "Assay's " + how;
  execution.evidence = "library";
  if (!combines(call.what)) return;
  const DataType type = call.receive.type;
  const bool narrow = type == DataType::fp16 || type == DataType::bf16;
  execution.compute = narrow ? "fp32" : name(type);
  execution.accumulate = narrow ? "fp32, rounded after each addition" : name(type);
}

std::string why_not_host(std::string_view algorithm, const Options& options) {
  const std::string device = options.get("device", "cpu");
  if (device == "cpu") return "";
  return std::string(algorithm) + " reduces in host memory (device=" + device + ")";
}

}  // namespace assay
