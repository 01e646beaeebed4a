#include "models/parallel/device_memory.hpp"

#include "comm/layers/staged.hpp"

namespace assay {

bool is_of_host(const Device& device) { return device.name() == "cpu"; }

Buffer find_memory(const Executor& executor, ValueIndex value) {
  const Graph& graph = executor.graph();
  return {executor.memory(value).get(), graph.elements(value), graph.value(value).type};
}

std::vector<std::byte> read_bytes(Device& device, const Buffer& from) {
  std::vector<std::byte> bytes(from.bytes());
  device.copy(bytes.data(), from.data, bytes.size());
  device.stream().wait();
  return bytes;
}

void write_bytes(Device& device, const Buffer& to, const std::byte* from) {
  device.copy(to.data, from, to.bytes());
  device.stream().wait();
}

std::unique_ptr<Communicator> make_staged_for(Communicator& under, Device& device) {
  return is_of_host(device) ? nullptr : make_staged(under, device);
}

}  // namespace assay
