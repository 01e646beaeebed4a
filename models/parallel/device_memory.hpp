#pragma once
// Memory of networks that may be a device's: as bytes of the host, and over ranks that read the
// host's memory alone.

#include <cstddef>
#include <memory>
#include <vector>

#include "core/api/communicator.hpp"
#include "models/network/executor.hpp"

namespace assay {

/// The host can touch the memory of this device.
bool is_of_host(const Device& device);

/// The memory of a value, as the executor's device has it.
Buffer find_memory(const Executor& executor, ValueIndex value);
/// The bytes of a buffer of `device`, after all work on its stream.
std::vector<std::byte> read_bytes(Device& device, const Buffer& from);
/// Writes to a buffer of `device`, and returns when that is done.
void write_bytes(Device& device, const Buffer& to, const std::byte* from);

/// Stages buffers of `device` over `under` (comm/layers/staged.hpp), which reads the host's memory
/// and must outlive the result; null if the buffers are in the host's memory.
std::unique_ptr<Communicator> make_staged_for(Communicator& under, Device& device);

}  // namespace assay
