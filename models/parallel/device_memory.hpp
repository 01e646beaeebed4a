#pragma once
// Memory of networks, possibly on a device: copies to and from the host, and communicators that can
// read only the host's memory.

#include <cstddef>
#include <memory>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// True if the host can access the memory of this device.
bool is_of_host(const Device& device);

/// The memory of a value on the executor's device.
Buffer find_memory(const Executor& executor, ValueIndex value);
/// The bytes of a buffer of `device`, after waiting for its stream.
std::vector<std::byte> read_bytes(Device& device, const Buffer& from);
/// Writes to a buffer of `device`, and waits for the copy.
void write_bytes(Device& device, const Buffer& to, const std::byte* from);

/// A communicator that stages buffers of `device` through the host's memory and sends them with
/// `under` (comm/layers/staged.hpp), which must outlive it. Null if the buffers are in the host's
/// memory.
std::unique_ptr<Communicator> make_staged_for(Communicator& under, Device& device);

}  // namespace assay
