#pragma once
// Collectives between the ranks of one node through shared memory.

#include <optional>

#include "core/api/backend.hpp"

namespace assay {

/// Collective. `ranks` are on one node, carry the messages, and must outlive the result.
/// `streamed`: whether long results are written past the caches; without it, prepare() measures
/// which is faster.
Result<std::unique_ptr<Communicator>> shared_memory(Communicator& ranks,
                                                    std::optional<bool> streamed = {});

}  // namespace assay
