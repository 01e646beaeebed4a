#pragma once
// Memory of networks that may be a device's: as bytes of the host, and over ranks that read the
// host's memory alone.

#include <cstddef>
#include <memory>
#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// Whether the host can touch the memory of this device.
bool is_of_host(const Device& device);

/// The bytes of a buffer of `device`, after all work on its stream.
std::vector<std::byte> read_bytes(Device& device, const Buffer& from);
/// Writes to a buffer of `device`, and returns when that is done.
void write_bytes(Device& device, const Buffer& to, const std::byte* from);

/// What stages buffers of `device` over `under`, which reads the host's memory and must outlive it
/// (comm/layers/staged.hpp); null if they are in the host's memory.
std::unique_ptr<Communicator> staged_for(Communicator& under, Device& device);

}  // namespace assay
