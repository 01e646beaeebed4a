// Gradient lag over several ranks: sums that end in the next step, and those that end too late.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "comm/forwarding.hpp"
#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "tests/core/thread_communicator.hpp"
#include "trainers.hpp"

namespace assay {
namespace test_lag_ranks {

using network_test::difference;
using network_test::made;
using network_test::plugins;
using network_test::small_settings;

/// A started sum is made when it is waited for, and not before.
class Deferred : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  Request start(const Call& call, Stream&) override {
    calls_.push_back(call);
    return own_request(calls_.size());
  }
  void wait(Request& request) override {
    if (request.handle == 0) return;
    end(decode_number(request) - 1);
    request = {};
  }
  bool done(Request& request) override { return request.handle == 0; }

 protected:
  virtual void end(std::size_t which) { run(calls_[which], stream_); }
  std::vector<Call> calls_;
  HostStream stream_;
};

/// Says too early that a sum is there: it is made when the next one is started.
class TooEarly final : public Deferred {
 public:
  using Deferred::Deferred;
  Request start(const Call& call, Stream& stream) override {
    for (const std::size_t which : late_) Deferred::end(which);
    late_.clear();
    return Deferred::start(call, stream);
  }

 private:
  void end(std::size_t which) override { late_.push_back(which); }
  std::vector<std::size_t> late_;
};

/// Gives the sum that was started last, of one bucket a step: without lag, as it were.
class Newest final : public Deferred {
 public:
  using Deferred::Deferred;

 private:
  void end(std::size_t which) override {
    Call call = calls_[which];
    call.send = calls_.back().send;
    run(call, stream_);
  }
};

enum class Sums { at_once, deferred, too_early, newest };

std::shared_ptr<Communicator> adding(Sums sums, Communicator& ranks) {
  if (sums == Sums::deferred) return std::make_shared<Deferred>(ranks);
  if (sums == Sums::too_early) return std::make_shared<TooEarly>(ranks);
  if (sums == Sums::newest) return std::make_shared<Newest>(ranks);
  return nullptr;
}

std::unique_ptr<Trainer> trainer_of(Communicator& ranks, Sums sums, std::int64_t accumulate,
                                    std::int64_t lag, std::size_t bucket_bytes = 20000,
                                    std::optional<int> control = std::nullopt) {
  TrainerSettings of = small_settings("native");
  of.executor.threads = 1;
  of.bucket_bytes = bucket_bytes;
  of.accumulate = accumulate;
  of.lag = lag;
  of.control = control;
  auto trainer = Trainer::make(of, plugins(), ranks, adding(sums, ranks));
  auto ready = std::move(std::get<std::unique_ptr<Trainer>>(trainer));
  load_random(*ready, 1);
  ready->prepare();
  return ready;
}

constexpr std::int64_t steps_of_test = 3;

/// Each step has `batches` batches, of which this rank has some consecutive ones.
std::vector<double> learnt(Trainer& trainer, std::int64_t batches, std::int64_t first,
                           bool passes = true) {
  const std::int64_t own = trainer.settings().accumulate;
  bool all_passed = true;
  for (std::int64_t step = 0; step < steps_of_test; ++step) {
    std::int64_t next = step * batches + first;
    const auto load = [&] { load_random(trainer, 100 + static_cast<std::uint64_t>(next++)); };
    load();
    StepCheck check;
    check.verification.passed = true;
    check.gradient_sum = true;
    check.seed = static_cast<std::uint64_t>(step);
    trainer.step(0.01 + 0.005 * static_cast<double>(step), &check, load);
    EXPECT_EQ(next, step * batches + first + own);
    all_passed = all_passed && check.verification.passed;
    if (check.verification.passed) continue;
    EXPECT_FALSE(passes) << check.verification.reason;
    EXPECT_NE(check.verification.reason.find("of the sum of gradients of the step before"),
              std::string::npos)
        << check.verification.reason;
  }
  EXPECT_EQ(all_passed, passes);
  return read_values(trainer.executor(), trainer.graph().weights);
}

/// Batch norm sees the same batches, so what is learnt is equal to rounding: whether a sum is made
/// at once, or in the last moment of the next step.
TEST(LagRanks, LearnWhatOneRankLearnsThatAccumulates) {
  const auto alone = make_serial_communicator();
  const std::vector<double> one = learnt(*trainer_of(*alone, Sums::at_once, 4, 1), 4, 0);
  EXPECT_GT(difference(learnt(*trainer_of(*alone, Sums::at_once, 4, 0), 4, 0), one), 1e-3);
  for (const Sums sums : {Sums::at_once, Sums::deferred})
    for (const int ranks_of_test : {2, 4})
      testing_fakes::on_threads(ranks_of_test, [&](Communicator& ranks) {
        const std::int64_t own = 4 / ranks.size();
        const auto trainer = trainer_of(ranks, sums, own, 1);
        EXPECT_LT(difference(learnt(*trainer, 4, ranks.rank() * own), one), 1e-5);
      });
}

/// Control decides when sums begin, not what they are.
TEST(ControlledRanks, LearnTheSame) {
  made(small_settings("native"), *make_serial_communicator());  // plugins begin in one thread
  for (const std::int64_t lag : {0, 1})
    testing_fakes::on_threads(3, [&](Communicator& ranks) {
      const std::vector<double> plain =
          learnt(*trainer_of(ranks, Sums::at_once, 1, lag), 3, ranks.rank());
      for (const int radix : {0, 2}) {
        const auto trainer = trainer_of(ranks, Sums::at_once, 1, lag, 20000, radix);
        EXPECT_EQ(difference(learnt(*trainer, 3, ranks.rank()), plain), 0) << radix;
        EXPECT_GT(trainer->control_messages(), 2 * 2 * 3);  // two neighbours, and several buckets
      }
    });
}

/// A late rank is waited for in control messages; they are no work of the next step.
TEST(ControlledRanks, WaitedForALateRankInTheirOwnSteps) {
  made(small_settings("native"), *make_serial_communicator());  // plugins begin in one thread
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    const auto trainer = trainer_of(ranks, Sums::at_once, 1, 0, 20000, 0);
    for (std::int64_t step = 0; step < steps_of_test; ++step) {
      ranks.barrier();
      if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      trainer->step(0.01);
      EXPECT_GE(trainer->seconds().forward, 0);
      for (const Arrival& arrival : trainer->arrivals())
        EXPECT_LE(arrival.network, arrival.at - arrival.begun);
    }
  });
}

TEST(LagRanks, ASumThatIsTakenTooEarlyIsFound) {
  made(small_settings("native"), *make_serial_communicator());  // plugins begin in one thread
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    learnt(*trainer_of(ranks, Sums::too_early, 1, 1), 2, ranks.rank(), false);
  });
}

TEST(LagRanks, AnUpdateByThisStepsGradientsIsFound) {
  made(small_settings("native"), *make_serial_communicator());
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    learnt(*trainer_of(ranks, Sums::newest, 1, 1, 25 << 20), 2, ranks.rank(), false);
  });
}

/// A sum that overflows on one rank alone: MPI does not promise equal bits.
class OverflowsOnOneRank final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    if (rank() == 1 && overflows)
      static_cast<float*>(call.receive.data)[0] = std::numeric_limits<float>::infinity();
    return {};
  }
  bool overflows = true;
};

/// Else one rank would make a checked step again, and wait for the others, which do not.
TEST(LagRanks, AgreeWhetherGradientsOverflowed) {
  made(small_settings("native"), *make_serial_communicator());
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    for (const std::int64_t lag : {0, 1}) {
      TrainerSettings of = small_settings("native");
      of.executor.threads = 1;
      of.lag = lag;
      of.loss_scale = parse_loss_scale("--loss-scale", "dynamic:1024");
      const auto sums = std::make_shared<OverflowsOnOneRank>(ranks);
      auto found = Trainer::make(of, plugins(), ranks, sums);
      const auto trainer = std::move(std::get<std::unique_ptr<Trainer>>(found));
      load_random(*trainer, 1);
      if (lag > 0) {
        trainer->step(0.01);
        EXPECT_TRUE(trainer->has_overflowed());
      }
      EXPECT_THROW(trainer->step(0.01), CaseError);
    }
  });
}

/// A sum ends so long after its start; or its start ends it, and takes as long.
class Slow final : public ForwardingCommunicator {
 public:
  static constexpr auto duration = std::chrono::milliseconds(80);
  Slow(Communicator& under, bool blocking) : ForwardingCommunicator(under), blocking_(blocking) {}
  Request start(const Call& call, Stream& stream) override {
    run(call, stream);
    ends_.push_back(std::chrono::steady_clock::now() + duration);
    if (blocking_) std::this_thread::sleep_until(ends_.back());
    return blocking_ ? Request{} : own_request(ends_.size() - 1);
  }
  void wait(Request& request) override {
    if (request.handle != 0) std::this_thread::sleep_until(ends_[decode_number(request)]);
    request = {};
  }
  bool done(Request&) override { return false; }

 private:
  bool blocking_;
  std::vector<std::chrono::steady_clock::time_point> ends_;
};

/// Seconds of exposed communication and of all else in a step, while other work of 100 ms lies
/// between two steps.
std::pair<double, double> exposed(Communicator& ranks, std::int64_t lag, bool blocking) {
  TrainerSettings of = small_settings("native");
  of.executor.threads = 1;
  of.lag = lag;
  auto found = Trainer::make(of, plugins(), ranks, std::make_shared<Slow>(ranks, blocking));
  const auto trainer = std::move(std::get<std::unique_ptr<Trainer>>(found));
  load_random(*trainer, 1);
  for (int step = 0; step < 2; ++step) {
    std::this_thread::sleep_for(Slow::duration + std::chrono::milliseconds(20));
    trainer->step(0.01);
  }
  const StepSeconds seconds = trainer->seconds();
  return {seconds.exposed_communication, seconds.forward + seconds.backward + seconds.update};
}

TEST(LagRanks, SumsAreHiddenBehindTheNextStep) {
  made(small_settings("native"), *make_serial_communicator());
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    const double whole = std::chrono::duration<double>(Slow::duration).count();
    EXPECT_GT(exposed(ranks, 0, false).first, 0.9 * whole);
    // On a loaded machine the next step may begin late: once must do.
    double least = whole;
    for (int i = 0; i < 5; ++i) least = std::min(least, exposed(ranks, 1, false).first);
    EXPECT_LT(least, 0.9 * whole);
    // A sum that starts and ends in one call is not hidden, and no part of the backward pass.
    for (const std::int64_t lag : {0, 1}) {
      const auto [communication, computation] = exposed(ranks, lag, true);
      EXPECT_GT(communication, 0.9 * whole);
      EXPECT_GT(computation, 0);
    }
  });
}

}  // namespace test_lag_ranks
}  // namespace assay
