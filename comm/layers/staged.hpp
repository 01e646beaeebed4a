#pragma once
// Staging: calls on device buffers over a transport that reads host memory only. The data are
// copied to page-locked host memory, communicated there, and copied back, as Horovod does where MPI
// cannot read device memory.

#include <memory>

#include "core/api/communicator.hpp"

namespace assay {

/// Appended to the implementation in the row's "executed".
inline constexpr const char* staged_words = "staged through pinned host memory";

/// `under` communicates host memory; the copies are ordered on `device`'s stream. A call in place
/// stays in place on the host. start() completes the call. prepare() allocates the host memory;
/// that of messages is allocated by the first message.
std::unique_ptr<Communicator> make_staged(std::shared_ptr<Communicator> under, Device& device);
/// The same over a communicator that must outlive the result.
std::unique_ptr<Communicator> make_staged(Communicator& under, Device& device);

}  // namespace assay
