#pragma once
// Calls of a transport of host memory on buffers of a device: copied to page-locked memory of the
// host, called there, copied back. It is what Horovod does where MPI cannot read device memory.

#include <memory>

#include "core/api/communicator.hpp"

namespace assay {

/// What a row says of it.
inline constexpr const char* staged_words = "staged through pinned host memory";

/// `under` moves host memory; calls are made on `device`'s stream. Places that are one in the
/// device's memory are one in the host's, so a call in place stays one. A started call runs whole.
/// Scratch memory is taken by prepare(), of messages by the first of them.
std::unique_ptr<Communicator> staged(std::unique_ptr<Communicator> under, Device& device);
/// The same over one that outlives the result.
std::unique_ptr<Communicator> staged(Communicator& under, Device& device);

}  // namespace assay
