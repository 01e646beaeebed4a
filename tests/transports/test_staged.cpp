// Staging keeps the contract over a device whose copies happen only when somebody waits, and gives
// the transport beneath memory of the host alone.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "comm/forwarding.hpp"
#include "comm/layers/staged.hpp"
#include "core/api/operation.hpp"
#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/transports/contract.hpp"

namespace assay {
namespace test_staged {

using testing::Contract;
using testing_fakes::on_threads;

/// Memory of the host that stands for a device's: what is to be copied is copied by wait().
class LazyDevice final : public Device {
 public:
  std::string name() const override { return "gpu"; }
  Stream& stream() override { return stream_; }
  std::unique_ptr<Tensor> allocate(const TensorSpec&) override { return nullptr; }
  void put(Tensor&, const Source&) override {}
  void get(Tensor&, const Sink&) override {}
  void copy(void* to, const void* from, std::size_t bytes) override {
    stream_.copies.push_back({to, from, bytes});
  }
  std::shared_ptr<void> host_memory(std::size_t bytes) override {
    auto memory = Device::host_memory(bytes);
    host.push_back({static_cast<std::byte*>(memory.get()), bytes});
    return memory;
  }
  std::size_t memory_available() const override { return 0; }
  std::size_t cache_bytes() const override { return 0; }

  struct Memory {
    std::byte* data;
    std::size_t bytes;
  };
  std::vector<Memory> host;  ///< all that was ever given

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  struct LazyStream final : Stream {
    void mark(int) override {}
    void wait() override {
      for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
      copies.clear();
    }
    double seconds(int, int) const override { return 0; }
    std::vector<Copy> copies;
  } stream_;
};

/// A transport that refuses memory which is none of the host's.
class HostOnly final : public ForwardingCommunicator {
 public:
  HostOnly(Communicator& under, const LazyDevice& device)
      : ForwardingCommunicator(under), device_(device) {}
  HostOnly(std::unique_ptr<Communicator> under, const LazyDevice& device)
      : ForwardingCommunicator(*under), owned_(std::move(under)), device_(device) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<HostOnly>(under().split(color, key), device_);
  }
  void prepare(const Call& call) override {
    check(call.send);
    check(call.receive);
    under().prepare(call);
  }
  void run(const Call& call, Stream& stream) override {
    check(call.send);
    check(call.receive);
    last = call;
    under().run(call, stream);
  }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    check(data);
    return under().send(data, to, tag, stream);
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    check(data);
    return under().receive(data, from, tag, stream);
  }
  Call last;  ///< as it came

 private:
  void check(const Buffer& buffer) const {
    const auto* const first = static_cast<std::byte*>(buffer.data);
    for (const auto& [data, bytes] : device_.host)
      if (buffer.count == 0 || (first >= data && first + buffer.bytes() <= data + bytes)) return;
    throw CaseError("memory of the device reached the transport");
  }
  std::unique_ptr<Communicator> owned_;
  const LazyDevice& device_;
};

/// A caller waits before it looks at its memory.
class Waiting final : public ForwardingCommunicator {
 public:
  Waiting(Communicator& under, Device& device) : ForwardingCommunicator(under), device_(device) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    parts_.push_back(under().split(color, key));
    return std::make_unique<Waiting>(*parts_.back(), device_);
  }
  void run(const Call& call, Stream& stream) override {
    under().run(call, stream);
    device_.stream().wait();
  }
  Request start(const Call& call, Stream& stream) override {
    const Request request = under().start(call, stream);
    device_.stream().wait();
    return request;
  }
  void wait(Request& request) override {
    under().wait(request);
    device_.stream().wait();
  }
  bool done(Request& request) override {
    const bool is = under().done(request);
    device_.stream().wait();
    return is;
  }

 private:
  Device& device_;
  std::vector<std::unique_ptr<Communicator>> parts_;
};

TEST(Staged, KeepsTheContractAndGivesTheTransportMemoryOfTheHost) {
  for (const int ranks : {1, 2, 3, 4})
    on_threads(
        ranks,
        [](Communicator& transport) {
          LazyDevice device;
          HostOnly host(transport, device);
          const auto over = make_staged(host, device);
          Waiting waiting(*over, device);
          Contract contract(waiting);
          contract.talk();
          contract.messages();
          contract.tags();
          contract.collectives();
          contract.splits();
          for (const std::string& failure : contract.failures()) ADD_FAILURE() << failure;
          EXPECT_GT(contract.calls(), 500u);
        },
        2);
}

TEST(Staged, TakesItsMemoryWhenItIsPreparedAndSaysWhatItDoes) {
  on_threads(2, [](Communicator& transport) {
    LazyDevice device;
    HostOnly host(transport, device);
    const auto over = make_staged(host, device);
    std::vector<float> send(1000, static_cast<float>(1 + over->rank())), receive(1000);
    const Buffer from{send.data(), 1000, DataType::fp32},
        into{receive.data(), 1000, DataType::fp32};
    const Call call{Collective::allreduce, from, into, ReduceOp::sum, 0};
    over->prepare(call);
    const std::size_t before = device.host.size();
    EXPECT_EQ(over->scratch_bytes(), 8000u);
    for (int i = 0; i < 3; ++i) over->run(call, device.stream());
    EXPECT_EQ(device.host.size(), before);
    device.stream().wait();
    EXPECT_EQ(receive, std::vector<float>(1000, 3));
    Execution ran;
    over->describe(call, ran);
    EXPECT_EQ(ran.implementation, ", staged through pinned host memory");
    EXPECT_EQ(over->allocate(64), nullptr);
  });
}

/// Some transports have other ways, or none, for a call in place: what is asked for is what runs.
TEST(Staged, ACallInPlaceStaysOne) {
  on_threads(2, [](Communicator& transport) {
    LazyDevice device;
    HostOnly host(transport, device);
    const auto over = make_staged(host, device);
    std::vector<float> data(1000), other(1000);
    const Buffer whole{data.data(), 1000, DataType::fp32},
        part = whole.part(500 * over->rank(), 500), else_where{other.data(), 1000, DataType::fp32};
    const auto places = [&](Collective what, const Buffer& send, const Buffer& receive) {
      over->run({what, send, receive, ReduceOp::sum, 0}, device.stream());
      return static_cast<float*>(host.last.receive.data) - static_cast<float*>(host.last.send.data);
    };
    EXPECT_EQ(places(Collective::allreduce, whole, whole), 0);
    EXPECT_EQ(places(Collective::reduce_scatter, whole, part), 500 * over->rank());
    EXPECT_EQ(places(Collective::allgather, part, whole), -500 * over->rank());
    EXPECT_NE(places(Collective::allreduce, whole, else_where), 0);
  });
}

/// A device whose memory is the host's needs nothing of its own.
TEST(Staged, AHostIsADeviceToo) {
  HostDevice device;
  const auto memory = device.host_memory(3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0u);
  char text[3] = {};
  device.copy(memory.get(), "ab", 3);
  device.copy(text, memory.get(), 3);
  EXPECT_STREQ(text, "ab");
}

}  // namespace test_staged
}  // namespace assay
