#pragma once
// Collectives between the ranks of one node through shared memory.

#include "core/api/backend.hpp"

namespace assay {

/// Collective. `ranks` are on one node, carry the messages, and must outlive the result.
Result<std::unique_ptr<Communicator>> shared_memory(Communicator& ranks);

}  // namespace assay
