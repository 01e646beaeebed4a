#pragma once
// Fusion: small tensors share one allreduce, since many small messages cost their latency each.

#include <memory>

#include "core/api/backend.hpp"

namespace assay {

/// Started allreduces of at most `bytes` are gathered and go as one call when the next one does not
/// fit or differs in type or operation, and at the wait for one that has not gone yet. Larger ones
/// go alone at once, after what was gathered: calls go in the order of their starts. Those that lie
/// side by side, in that order, go from where they lie; others are copied into a buffer of `bytes`
/// when they go, and out at their end. Tensors lie alike on all ranks: libraries want to be told by
/// all alike what is in place. Polling (done) never sends anything, since ranks poll differently
/// often: all ranks must start, and wait, in the same order. run() and the other collectives are
/// those below.
std::unique_ptr<Communicator> fused(Communicator& under, std::size_t bytes);

}  // namespace assay
