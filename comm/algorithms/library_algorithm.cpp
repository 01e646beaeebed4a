// library: whatever the transport's own calls choose.
#include "comm/algorithms/algorithm.hpp"
#include "comm/forwarding.hpp"

namespace assay {

namespace {

Made<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&, const Options&) {
  return std::make_unique<ForwardingCommunicator>(transport);
}

}  // namespace

AlgorithmEntry library_algorithm() {
  return {"library", "the transport's own calls, with the algorithm of its choice", &make};
}

std::string why_not_host(std::string_view algorithm, const Options& options) {
  const std::string device = options.get("device", "cpu");
  if (device == "cpu") return "";
  return std::string(algorithm) + " reduces in host memory (device=" + device + ")";
}

}  // namespace assay
