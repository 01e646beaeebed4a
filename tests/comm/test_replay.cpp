#include "comm/replay.hpp"

#include <chrono>

#include "comm/forwarding.hpp"
#include "comm/fusion.hpp"
#include "tests/comm/collective_check.hpp"

namespace assay {
namespace {

using namespace testing_comm;
using testing_fakes::on_threads;

/// Notes the counts that pass, and how.
class Noting final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  void run(const Call& call, Stream& stream) override {
    ran.push_back(call.send.count);
    ForwardingCommunicator::run(call, stream);
  }
  Request start(const Call& call, Stream& stream) override {
    started.push_back(call.send.count);
    return ForwardingCommunicator::start(call, stream);
  }
  std::vector<std::int64_t> ran, started;
};

const std::vector<std::int64_t> counts{10, 2000, 1, 0, 30, 500};
Shape all_of() {
  return {Collective::allreduce, 2541, DataType::fp32, ReduceOp::average, false, 0};
}

TEST(Replay, MakesOneCallATensorInTheirOrder) {
  on_threads(3, [](Communicator& transport) {
    Noting noting(transport);
    Replay replay(noting, {counts, false, 0});
    EXPECT_FALSE(replay.exposed_seconds().has_value());
    check(replay, all_of());
    EXPECT_EQ(noting.ran, counts);
    EXPECT_TRUE(noting.started.empty());
    Replay starting(noting, {counts, true, 0});
    check(starting, all_of());
    EXPECT_EQ(noting.started, counts);
    Shape in_place = all_of();
    in_place.in_place = true;
    check(starting, in_place);
  });
}

TEST(Replay, FusedTensorsGoTogether) {
  on_threads(2, [](Communicator& transport) {
    Noting noting(transport);
    const auto over = fused(noting, 400);
    Replay replay(*over, {counts, true, 0});
    check(replay, all_of());
    EXPECT_EQ(noting.started, (std::vector<std::int64_t>{2000, 500, 41}));
  });
}

TEST(Replay, LastsAsLongAsTheComputationAndTellsWhatComesOnTop) {
  on_threads(2, [](Communicator& transport) {
    Noting noting(transport);
    Replay replay(noting, {counts, false, 0.05});
    const auto start = std::chrono::steady_clock::now();
    check(replay, all_of());
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
    EXPECT_EQ(noting.started, counts);
    EXPECT_GE(replay.exposed_seconds().value(), 0);
  });
}

TEST(Replay, RefusesOtherCallsAndSizes) {
  on_threads(2, [](Communicator& transport) {
    Replay replay(transport, {counts, false, 0});
    std::vector<float> data(2541);
    const Buffer whole{data.data(), 2541, DataType::fp32}, less = whole.part(0, 2540);
    HostStream stream;
    for (const Call& call : {Call{Collective::broadcast, {}, whole, ReduceOp::sum, 0},
                             Call{Collective::allreduce, less, less, ReduceOp::sum, 0}}) {
      EXPECT_NE(replay.why_not(call), "");
      EXPECT_THROW(replay.run(call, stream), CaseError);
    }
  });
}

}  // namespace
}  // namespace assay
