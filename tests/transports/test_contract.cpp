// The contract's checks, over threads: what is right passes, and each thing that is spoiled is
// seen.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "comm/forwarding.hpp"
#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/transports/contract.hpp"

namespace assay {
namespace test_contract {

using testing::Contract;
using testing_fakes::on_threads;

void all(Contract& contract) {
  contract.talk();
  contract.messages();
  contract.tags();
  contract.collectives();
  contract.splits();
  contract.calls_under_way();
}

TEST(Contract, ThreadsKeepIt) {
  for (const int ranks : {1, 2, 3, 5})
    on_threads(
        ranks,
        [](Communicator& communicator) {
          Contract contract(communicator);
          all(contract);
          for (const std::string& failure : contract.failures()) ADD_FAILURE() << failure;
          EXPECT_GT(contract.calls(), 500u);
        },
        2);
}

/// A communicator that does one thing wrong.
class SpoilingCommunicator final : public ForwardingCommunicator {
 public:
  enum class Fault {
    last_element,
    input,
    behind,
    not_on_root,
    message,
    order,
    refuses_on_one,
    refuses_and_runs,
    split_order,
    maximum,
  };
  SpoilingCommunicator(Communicator& under, Fault fault)
      : ForwardingCommunicator(under), fault_(fault) {}

  std::string why_not(const Call& call) const override {
    const bool refused =
        fault_ == Fault::refuses_on_one ? rank() == 1 : fault_ == Fault::refuses_and_runs;
    if (refused && call.what == Collective::allgather) return "not today";
    return under().why_not(call);
  }
  void run(const Call& call, Stream& stream) override {
    under().run(call, stream);
    if (call.receive.count < 2 || rank() != size() - 1) return;
    const auto spoil = [](Buffer buffer) {
      const double wrong = 55;
      encode(buffer.type, std::span(&wrong, 1), buffer.data);
    };
    if (fault_ == Fault::last_element && call.what == Collective::allreduce)
      spoil(call.receive.part(call.receive.count - 1, 1));
    if (fault_ == Fault::input && call.send.data != call.receive.data &&
        call.what == Collective::allreduce)
      spoil(call.send.part(1, 1));
    if (fault_ == Fault::behind && call.what == Collective::broadcast)
      spoil(call.receive.part(call.receive.count, 1));
    if (fault_ == Fault::not_on_root && call.what == Collective::reduce && call.root != rank())
      spoil(call.receive.part(0, 1));
  }
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    return {};
  }
  Request receive(Buffer data, int from, int tag, Stream& stream) override {
    // One tag for all: messages are then told apart by their order alone.
    Request request = under().receive(data, from, fault_ == Fault::order ? 0 : tag, stream);
    if (fault_ == Fault::message && data.count > 1000) under_way_[request.handle] = data;
    return request;
  }
  void wait(Request& request) override {
    const std::uintptr_t handle = request.handle;
    under().wait(request);
    arrived(handle);
  }
  bool done(Request& request) override {
    const std::uintptr_t handle = request.handle;
    const bool is = under().done(request);
    if (is) arrived(handle);
    return is;
  }
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    return under().send(data, to, fault_ == Fault::order ? 0 : tag, stream);
  }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return under().split(color, fault_ == Fault::split_order ? rank() : key);
  }
  void allreduce_max(std::span<double> values) override {
    under().allreduce_max(values);
    if (fault_ == Fault::maximum) values.back() = 0;
  }

 private:
  void arrived(std::uintptr_t handle) {
    const auto message = under_way_.find(handle);
    if (message == under_way_.end()) return;
    const Buffer data = message->second;
    static_cast<std::int32_t*>(data.data)[data.count / 2] += 1;
    under_way_.erase(message);
  }
  Fault fault_;
  std::map<std::uintptr_t, Buffer> under_way_;
};

/// Buffered sends: one of the faults waits for a message before it sends its own.
void on_buffered_threads(int ranks, const std::function<void(Communicator&)>& body) {
  const auto world = std::make_shared<testing_fakes::ThreadWorld>(ranks);
  world->buffered = true;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      testing_fakes::ThreadCommunicator communicator(world, rank);
      body(communicator);
    });
  for (std::thread& thread : threads) thread.join();
}

class ContractSees : public ::testing::TestWithParam<SpoilingCommunicator::Fault> {};

TEST_P(ContractSees, WhatIsSpoiled) {
  std::mutex mutex;
  std::vector<std::string> seen;
  on_buffered_threads(3, [&](Communicator& under) {
    SpoilingCommunicator spoiled(under, GetParam());
    Contract contract(spoiled);
    all(contract);
    const std::lock_guard lock(mutex);
    seen.insert(seen.end(), contract.failures().begin(), contract.failures().end());
  });
  EXPECT_FALSE(seen.empty());
}

using Fault = SpoilingCommunicator::Fault;
INSTANTIATE_TEST_SUITE_P(Faults, ContractSees,
                         ::testing::Values(Fault::last_element, Fault::input, Fault::behind,
                                           Fault::not_on_root, Fault::message, Fault::order,
                                           Fault::refuses_on_one, Fault::refuses_and_runs,
                                           Fault::split_order, Fault::maximum));

}  // namespace test_contract
}  // namespace assay
