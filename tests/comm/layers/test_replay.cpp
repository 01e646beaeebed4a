#include "comm/layers/replay.hpp"

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "comm/forwarding.hpp"
#include "comm/layers/fusion.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/timing.hpp"
#include "core/result/result.hpp"
#include "tests/comm/collective_bench.hpp"
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
  bool done(Request& request) override {
    ++polls;
    return ForwardingCommunicator::done(request);
  }
  std::vector<std::int64_t> ran, started;
  long polls = 0;
};

const std::vector<std::int64_t> counts{10, 2000, 1, 0, 30, 500};
Shape all_of() {
  return {Collective::allreduce, 2541, DataType::fp32, ReduceOp::average, false, 0};
}

TEST(Replay, MakesOneCallATensorInTheirOrder) {
  on_threads(3, [](Communicator& transport) {
    Noting noting(transport);
    Replay replay(noting, {counts, false, 0});
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
    EXPECT_EQ(noting.started, (std::vector<std::int64_t>{10, 2000, 31, 500}));
  });
}

TEST(Replay, LastsAsLongAsTheComputationAndPollsOnlyWhereItIsToldTo) {
  for (const bool polled : {false, true})
    on_threads(2, [polled](Communicator& transport) {
      Noting noting(transport);
      Replay replay(noting, {counts, false, 0.05, polled});
      const auto start = std::chrono::steady_clock::now();
      check(replay, all_of());
      EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
      EXPECT_EQ(noting.started, counts);
      EXPECT_EQ(noting.polls > 0, polled);
    });
}

/// Rank 1 is late in each of its calls; how late, the test says.
class Late final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  Request start(const Call& call, Stream& stream) override {
    const Request request = ForwardingCommunicator::start(call, stream);
    if (rank() == 1) std::this_thread::sleep_for(late);
    return request;
  }
  std::chrono::milliseconds late{0};
};

TEST(Replay, WhatIsExposedIsOfTheSlowestRankAndOfTimedRunsAlone) {
  constexpr double compute = 0.005;
  on_threads(2, [](Communicator& transport) {
    CollectiveShape shape;
    shape.ranks = 2;
    shape.bytes = 40;
    Late late(transport);
    late.late = std::chrono::milliseconds(300);
    const auto stack = testing_fakes::rank_case(
        shape, transport, std::make_unique<Replay>(late, ReplaySettings{{10}, false, compute}));
    ASSERT_TRUE(stack->workload->verify_before().passed);
    late.late = std::chrono::milliseconds(20);
    TimingOptions few;
    few.max_time = 0.1;
    Outcome outcome;
    outcome.timing = measure(*stack->workload, transport, few);
    late.late = std::chrono::milliseconds(300);
    outcome.verification = stack->workload->verify_after();
    outcome.executed = stack->workload->executed();
    outcome.status = "ok";
    Case one;
    one.id = "replay";
    const nlohmann::json row =
        make_row("collectives", one, nullptr, outcome, 0, 0, 0, transport.size(), 1);
    const double exposed = row["executed"]["exposed_s"];
    EXPECT_GE(exposed, 0.020) << "of rank " << transport.rank();
    EXPECT_DOUBLE_EQ(exposed, median(outcome.timing->samples) - compute);
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
