#pragma once
// Collectives between the ranks of one node through shared memory.

#include <optional>

#include "core/api/backend.hpp"

namespace assay {

/// Collective. All of `ranks` must be on one node. They exchange control messages, and must outlive
/// the result. `streamed`: whether long results are written by non-temporal stores; without it,
/// prepare() measures which way is faster. Unsupported, with the same reason on all ranks, where
/// shared memory cannot be allocated.
Result<std::unique_ptr<Communicator>> shared_memory(Communicator& ranks,
                                                    std::optional<bool> streamed = {});

}  // namespace assay
