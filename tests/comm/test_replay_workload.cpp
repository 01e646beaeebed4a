#include "comm/replay_workload.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <thread>

#include "comm/forwarding.hpp"
#include "comm/layers/fusion.hpp"
#include "core/base/statistics.hpp"
#include "core/measure/run_case.hpp"
#include "core/result/result.hpp"
#include "tests/comm/collective_bench.hpp"

namespace assay {
namespace test_replay_workload {

using testing_fakes::on_threads;
using testing_fakes::rank_case;
using testing_fakes::RankCase;

/// Records the counts of the calls that pass through it.
class Recorder final : public ForwardingCommunicator {
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

CollectiveShape allreduce_of(int ranks, std::int64_t elements = 2541) {
  CollectiveShape shape;
  shape.ranks = ranks;
  shape.bytes = 4 * elements;
  return shape;
}

std::unique_ptr<RankCase> replay_over(Communicator& under, const ReplaySettings& replay,
                                      CollectiveShape shape) {
  return rank_case(shape, under, std::make_unique<ForwardingCommunicator>(under), false, replay);
}

void run_once(Workload& workload) {
  workload.reset();
  workload.run(workload.stream());
}

TEST(ReplayWorkload, MakesOneCallForEachTensorInOrder) {
  on_threads(3, [](Communicator& transport) {
    for (const bool in_place : {false, true}) {
      CollectiveShape shape = allreduce_of(3);
      shape.in_place = in_place;
      Recorder recorder(transport);
      const auto blocking = replay_over(recorder, {counts, false, 0}, shape);
      EXPECT_TRUE(blocking->workload->verify_before().passed);
      recorder.ran.clear();
      run_once(*blocking->workload);
      EXPECT_EQ(recorder.ran, counts);
      EXPECT_TRUE(recorder.started.empty());
      const Verification after = blocking->workload->verify_after();
      EXPECT_TRUE(after.passed) << after.reason;
      const auto started = replay_over(recorder, {counts, true, 0}, shape);
      EXPECT_TRUE(started->workload->verify_before().passed);
      recorder.started.clear();
      run_once(*started->workload);
      EXPECT_EQ(recorder.started, counts);
      EXPECT_TRUE(started->workload->verify_after().passed);
    }
  });
}

TEST(ReplayWorkload, FusedTensorsGoTogether) {
  on_threads(2, [](Communicator& transport) {
    Recorder recorder(transport);
    const auto fusion = make_fusion(recorder, 400);
    const auto replay = replay_over(*fusion, {counts, true, 0}, allreduce_of(2));
    EXPECT_TRUE(replay->workload->verify_before().passed);
    recorder.started.clear();
    run_once(*replay->workload);
    EXPECT_EQ(recorder.started, (std::vector<std::int64_t>{10, 2000, 31, 500}));
  });
}

TEST(ReplayWorkload, LastsAsLongAsTheComputationAndPollsOnlyOnRequest) {
  for (const bool polled : {false, true})
    on_threads(2, [polled](Communicator& transport) {
      Recorder recorder(transport);
      const auto replay = replay_over(recorder, {counts, false, 0.05, polled}, allreduce_of(2));
      EXPECT_TRUE(replay->workload->verify_before().passed);
      recorder.started.clear();
      recorder.polls = 0;
      const auto start = std::chrono::steady_clock::now();
      run_once(*replay->workload);
      EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
      EXPECT_EQ(recorder.started, counts);
      // A loaded machine may leave a rank no processor between two tensors: all ranks run again
      // then.
      double unpolled = 1;
      for (int run = 0; polled && unpolled > 0 && run < 100; ++run) {
        unpolled = recorder.polls > 0 ? 0 : 1;
        transport.allreduce_max(std::span(&unpolled, 1));
        if (unpolled > 0) run_once(*replay->workload);
      }
      EXPECT_EQ(recorder.polls > 0, polled);
      EXPECT_EQ(replay->workload->execution().numbers.at("tensors"), 6);
      EXPECT_EQ(replay->workload->execution().numbers.at("compute_s"), 0.05);
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

TEST(ReplayWorkload, ExposedTimeIsThatOfTheSlowestRankInTimedRuns) {
  constexpr double compute = 0.005;
  on_threads(2, [](Communicator& transport) {
    Late late(transport);
    late.late = std::chrono::milliseconds(300);
    const auto replay = replay_over(late, {{10}, false, compute}, allreduce_of(2, 10));
    ASSERT_TRUE(replay->workload->verify_before().passed);
    late.late = std::chrono::milliseconds(20);
    TimingOptions few;
    few.max_time = 0.1;
    Outcome outcome;
    outcome.timing = measure(*replay->workload, transport, few);
    late.late = std::chrono::milliseconds(300);
    outcome.verification = replay->workload->verify_after();
    outcome.execution = replay->workload->execution();
    outcome.status = "ok";
    Case wanted;
    wanted.id = "replay";
    const nlohmann::json row =
        make_row("collectives", wanted, nullptr, outcome, 0, 0, 0, transport.size(), 1);
    const double exposed = row["executed"]["exposed_s"];
    EXPECT_GE(exposed, 0.020) << "of rank " << transport.rank();
    EXPECT_DOUBLE_EQ(exposed, median(outcome.timing->samples) - compute);
  });
}

TEST(ReplayWorkload, RefusesAProblemThatIsNotTheSumOfItsTensors) {
  const auto alone = make_serial_communicator();
  CollectiveShape broadcast = allreduce_of(1);
  broadcast.pattern = Pattern::broadcast;
  for (const CollectiveShape& shape : {broadcast, allreduce_of(1, 2540)})
    EXPECT_THROW(replay_over(*alone, {counts, false, 0}, shape), std::logic_error);
}

TEST(ReplayWorkload, SaysWhyATensorCannotBeReduced) {
  class OnlyEven final : public ForwardingCommunicator {
   public:
    using ForwardingCommunicator::ForwardingCommunicator;
    std::string why_not(const Call& call) const override {
      return call.send.count % 2 == 0 ? "" : "an odd count";
    }
  };
  const auto alone = make_serial_communicator();
  const OnlyEven even(*alone);
  EXPECT_EQ(why_not_replay(CollectiveProblem(allreduce_of(1, 4)), {{2, 2}, false, 0}, even), "");
  EXPECT_EQ(why_not_replay(CollectiveProblem(allreduce_of(1, 4)), {{1, 3}, false, 0}, even),
            "an odd count");
}

/// Spoils one element of the largest tensor from call number `after` on, blocking or started.
class WrongElement final : public ForwardingCommunicator {
 public:
  WrongElement(Communicator& under, int after) : ForwardingCommunicator(under), after_(after) {}
  void run(const Call& call, Stream& stream) override {
    under().run(call, stream);
    spoil(call);
  }
  Request start(const Call& call, Stream& stream) override {
    Request request = under().start(call, stream);
    under().wait(request);
    spoil(call);
    return {};
  }

 private:
  void spoil(const Call& call) {
    if (call.receive.count != 2000 || after_-- > 0) return;
    static_cast<float*>(call.receive.data)[1234] += 1;
  }
  int after_;
};

/// A transport that moves no data from call number `honest` on.
class Lazy final : public ForwardingCommunicator {
 public:
  Lazy(Communicator& under, int honest) : ForwardingCommunicator(under), honest_(honest) {}
  void run(const Call& call, Stream& stream) override {
    if (honest_-- > 0) under().run(call, stream);
  }
  Request start(const Call& call, Stream& stream) override {
    return honest_-- > 0 ? under().start(call, stream) : Request{};
  }

 private:
  int honest_;
};

/// The status of a replay's case in which `make` gives the communicator of each rank. `claims`,
/// `elements`: of the case.
template <class Make>
Outcome outcome_of(const ReplaySettings& replay, const Make& make,
                   const ReplayClaims& claims = {std::ssize(counts)},
                   std::int64_t elements = 2541) {
  Outcome outcome;
  on_threads(2, [&](Communicator& transport) {
    HostDevice device;
    TimingOptions few;
    few.max_time = 0.001;
    const CollectiveProblem problem(allreduce_of(2));
    const auto amounts = CollectiveProblem(allreduce_of(2, elements)).amounts();
    OperationSetup setup;
    setup.rank = transport.rank();
    const Outcome found = run_case(
        [&]() -> Result<std::unique_ptr<Workload>> {
          return replay_workload(problem, replay, claims, make(transport), {"library", "threads"},
                                 device, 0, setup);
        },
        transport, few, amounts);
    if (transport.rank() == 0) outcome = found;
  });
  return outcome;
}

TEST(ReplayWorkload, AWrongElementOnOneRankIsIncorrectAndCounted) {
  for (const bool started : {false, true})
    for (const int after : {0, 5}) {  // before the timed phase, and in it
      const Outcome outcome = outcome_of({counts, started, 0}, [&](Communicator& transport) {
        return std::make_unique<WrongElement>(transport, transport.rank() == 1 ? after : 1 << 30);
      });
      EXPECT_EQ(outcome.status, "incorrect") << started << after << outcome.reason;
      EXPECT_NE(outcome.reason.find("[1244]"), std::string::npos) << outcome.reason;
      ASSERT_TRUE(outcome.verification);
      EXPECT_EQ(outcome.verification->wrong_elements, 1);
    }
}

TEST(ReplayWorkload, ATransportThatStopsMovingDataIsIncorrect) {
  for (const bool started : {false, true})
    for (const int honest : {3, 40}) {  // tensors of the first run, and of the timed phase
      const Outcome outcome = outcome_of({counts, started, 0}, [&](Communicator& transport) {
        return std::make_unique<Lazy>(transport, honest);
      });
      EXPECT_EQ(outcome.status, "incorrect") << started << honest << outcome.reason;
      EXPECT_GT(outcome.verification->wrong_elements, 0);
    }
}

TEST(ReplayWorkload, ACorrectReplayIsOkAndHasNoWrongElements) {
  const Outcome outcome = outcome_of({counts, true, 0}, [&](Communicator& transport) {
    return std::make_unique<ForwardingCommunicator>(transport);
  });
  EXPECT_EQ(outcome.status, "ok") << outcome.reason;
  EXPECT_EQ(outcome.verification->wrong_elements, 0);
  EXPECT_EQ(outcome.work.at("busbw"), 4 * 2541);
}

/// Calls and bytes are counted where they are made; results are right whatever they are.
TEST(ReplayWorkload, OtherCallsThanTheCaseNamesAreIncorrect) {
  const auto right = [](Communicator& transport) {
    return std::make_unique<ForwardingCommunicator>(transport);
  };
  for (const bool started : {false, true}) {
    EXPECT_EQ(outcome_of({counts, started, 0}, right).status, "ok") << started;
    const Outcome fused = outcome_of({{2541}, started, 0}, right);
    EXPECT_EQ(fused.status, "incorrect") << started;
    EXPECT_NE(fused.reason.find("other calls"), std::string::npos) << fused.reason;
    const Outcome half = outcome_of({counts, started, 0}, right, {std::ssize(counts)}, 2 * 2541);
    EXPECT_EQ(half.status, "incorrect") << started;
    EXPECT_NE(half.reason.find("other work"), std::string::npos) << half.reason;
  }
  const auto reason = [&](const ReplaySettings& replay, const ReplayClaims& claims) {
    return outcome_of(replay, right, claims).reason;
  };
  EXPECT_EQ(reason({counts, true, 0.004}, {6, 0.004}), "");
  EXPECT_EQ(reason({counts, true, 0.004, true}, {6, 0.004, true}), "");
  EXPECT_NE(reason({counts, true, 0.002}, {6, 0.05}).find("before the 0.05 s"), std::string::npos);
  EXPECT_NE(reason({counts, true, 0.05, true}, {6, 0.05}).find("polled"), std::string::npos);
}

}  // namespace test_replay_workload
}  // namespace assay
