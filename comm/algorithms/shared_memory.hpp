#pragma once
// Collectives of the ranks of one node through memory that all of them see.

#include "core/api/backend.hpp"

namespace assay {

/// Collective. `ranks` are on one node and outlive the result; messages go to them.
Result<std::unique_ptr<Communicator>> shared_memory(Communicator& ranks);

}  // namespace assay
