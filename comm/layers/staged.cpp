#include "comm/layers/staged.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "comm/forwarding.hpp"
#include "comm/slots.hpp"
#include "core/api/host_device.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"

namespace assay {

namespace {

/// Offset of `part` in `whole`, in bytes; nothing if it is not a part.
std::optional<std::size_t> place_in(const Buffer& whole, const Buffer& part) {
  const auto first = reinterpret_cast<std::uintptr_t>(whole.data);
  const auto at = reinterpret_cast<std::uintptr_t>(part.data);
  if (at < first || at + part.bytes() > first + whole.bytes()) return std::nullopt;
  return at - first;
}

void* at(void* data, std::size_t offset) { return static_cast<std::byte*>(data) + offset; }

class Staged final : public ForwardingCommunicator {
 public:
  Staged(Communicator& under, std::shared_ptr<Communicator> owned, Device& device)
      : ForwardingCommunicator(under), owned_(std::move(owned)), device_(device) {}

  std::unique_ptr<Communicator> split(int color, int key) override {
    return make_staged(under().split(color, key), device_);
  }
  void prepare(const Call& call) override { under().prepare(on_host(call)); }
  std::shared_ptr<void> allocate(std::size_t) override { return nullptr; }  // the host's
  std::size_t scratch_bytes() const override {
    return under().scratch_bytes() + sent_.bytes + received_.bytes;
  }
  void describe(const Call& call, Execution& execution) const override {
    under().describe(call, execution);
    execution.implementation += std::string(", ") + staged_words;
  }

  void run(const Call& call, Stream&) override {
    if (const std::string reason = why_not(call); !reason.empty()) throw CaseError(reason);
    const Call host = on_host(call);
    const bool roots = call.root == rank(), broadcast = call.what == Collective::broadcast;
    if (broadcast && roots) copy(host.receive, call.receive);
    if (!broadcast) copy(host.send, call.send);
    // Waits also for the last call's copies from the same memory.
    device_.stream().wait();
    under().run(host, host_stream_);
    const bool written = broadcast ? !roots : call.what != Collective::reduce || roots;
    if (written) copy(call.receive, host.receive);
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }

  Request send(Buffer data, int to, int tag, Stream&) override {
    const std::uintptr_t number = message(data, false);
    Message& transfer = messages_[number];
    copy(transfer.host, data);
    device_.stream().wait();
    transfer.request = under().send(transfer.host, to, tag, host_stream_);
    return {number};
  }
  Request receive(Buffer data, int from, int tag, Stream&) override {
    const std::uintptr_t number = message(data, true);
    Message& transfer = messages_[number];
    device_.stream().wait();  // the previous message may still copy from this memory
    transfer.request = under().receive(transfer.host, from, tag, host_stream_);
    return {number};
  }
  void wait(Request& request) override {
    if (request.handle == 0) return;
    under().wait(messages_[request.handle].request);
    finish(request);
  }
  bool done(Request& request) override {
    if (request.handle == 0) return true;
    if (!under().done(messages_[request.handle].request)) return false;
    finish(request);
    return true;
  }

 private:
  struct Scratch {
    std::shared_ptr<void> memory;
    std::size_t bytes = 0;
  };
  struct Message {
    Buffer device, host;
    bool arrives = false;
    Scratch scratch;  ///< kept for the next message with this number
    Request request;
  };

  void* room(Scratch& scratch, std::size_t bytes) {
    if (scratch.memory == nullptr || scratch.bytes < bytes) {
      device_.stream().wait();  // a copy from the old memory may be under way
      scratch.memory = device_.host_memory(bytes);
      scratch.bytes = bytes;
    }
    return scratch.memory.get();
  }

  void copy(const Buffer& to, const Buffer& from) {
    if (from.count > 0) device_.copy(to.data, from.data, from.bytes());
  }

  /// The same call in host memory.
  Call on_host(const Call& call) {
    Call host = call;
    const auto in_send = place_in(call.send, call.receive),
               in_receive = place_in(call.receive, call.send);
    if (in_send) {
      host.send.data = room(sent_, call.send.bytes());
      host.receive.data = at(host.send.data, *in_send);
    } else if (in_receive) {
      host.receive.data = room(received_, call.receive.bytes());
      host.send.data = at(host.receive.data, *in_receive);
    } else {
      host.send.data = room(sent_, call.send.bytes());
      host.receive.data = room(received_, call.receive.bytes());
    }
    return host;
  }

  std::uintptr_t message(const Buffer& data, bool arrives) {
    const std::uintptr_t number = messages_.take();
    Message& transfer = messages_[number];
    transfer.device = transfer.host = data;
    transfer.host.data = room(transfer.scratch, data.bytes());
    transfer.arrives = arrives;
    return number;
  }
  void finish(Request& request) {
    const Message& transfer = messages_[request.handle];
    if (transfer.arrives) copy(transfer.device, transfer.host);
    messages_.give_back(request.handle);
    request = {};
  }

  std::shared_ptr<Communicator> owned_;
  Device& device_;
  HostStream host_stream_;
  Scratch sent_, received_;
  Slots<Message> messages_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged(std::shared_ptr<Communicator> under, Device& device) {
  Communicator& it = *under;
  return std::make_unique<Staged>(it, std::move(under), device);
}

std::unique_ptr<Communicator> make_staged(Communicator& under, Device& device) {
  return std::make_unique<Staged>(under, nullptr, device);
}

}  // namespace assay
