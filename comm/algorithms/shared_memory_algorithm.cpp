// shared_memory: ranks of one node, without messages.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/shared_memory.hpp"

namespace assay {

namespace {

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("shared_memory", options); !reason.empty())
    return Unsupported{std::move(reason)};
  return shared_memory(transport);
}

}  // namespace

AlgorithmEntry shared_memory_algorithm() {
  return {"shared_memory",
          "one node: through a POSIX shared-memory segment; every rank reduces its slice", &make};
}

}  // namespace assay
