// Samples are held against another clock and against the work that the runs have counted.

#include "core/measure/sample_check.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/api/host_device.hpp"
#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "scripted_workload.hpp"
#include "thread_communicator.hpp"

namespace assay {
namespace test_sample_check {

/// Waits on the host's clock; counts what it has done as it is told.
class WaitingWorkload final : public testing_fakes::ScriptedWorkload {
 public:
  WaitingWorkload() : ScriptedWorkload([](int) { return 0.0; }) {}
  Stream& stream() override { return host_; }
  void reset() override { spin(resting_s); }
  void run(Stream&) override {
    spin(length_s);
    done_ += each;
  }
  std::map<std::string, double> take_done() override {
    return {{"flops_per_s", std::exchange(done_, 0)}};
  }
  double each = 50, resting_s = 0, length_s = 2e-4;

 private:
  static void spin(double seconds) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() <
           seconds) {
    }
  }
  HostStream host_;
  double done_ = 0;
};

const std::map<std::string, double> amounts{{"flops_per_s", 50}};

class SampleCheckTest : public testing::Test {
 protected:
  /// Ten samples of batches of `runs` that are taken for batches of `claimed`.
  void take(int runs, int claimed) {
    sampler_.set_batch(runs);
    check_.begin();
    for (int i = 0; i < 10; ++i) check_.once(claimed);
    check_.end(claimed);
  }
  WaitingWorkload workload_;
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
  Sampler sampler_{workload_, *ranks_};
  SampleCheck check_{workload_, sampler_, *ranks_, amounts};
};

TEST_F(SampleCheckTest, RightSamplesPassWhateverIsDoneBetweenThem) {
  workload_.resting_s = 1e-3;
  EXPECT_NO_THROW(take(1, 1));
  EXPECT_NO_THROW(take(3, 3));
}

TEST_F(SampleCheckTest, RunsThatASampleDoesNotContainAreFound) {
  EXPECT_THROW(take(2, 3), WrongResult);
  EXPECT_THROW(take(3, 2), WrongResult);
}

/// A chunk may have one sample alone: an interruption of a moment does not excuse it.
TEST_F(SampleCheckTest, OneLongSampleIsHeldAgainstTheClock) {
  workload_.length_s = 0.3;
  sampler_.set_batch(3);
  check_.begin();
  check_.once(2);
  EXPECT_THROW(check_.end(3), CaseError);
}

TEST_F(SampleCheckTest, WorkThatWasLeftOutIsFound) {
  workload_.each = 25;
  try {
    take(1, 1);
    FAIL() << "half of the work was taken for all of it";
  } catch (const WrongResult& wrong) {
    EXPECT_NE(std::string(wrong.what()).find("25 in each run, not 50"), std::string::npos)
        << wrong.what();
  }
}

TEST_F(SampleCheckTest, WorkBeforeTheSamplesDoesNotCount) {
  workload_.run(workload_.stream());
  EXPECT_NO_THROW(take(1, 1));
}

/// A clock that disagrees with the host's, in place of a wrong divisor of batches.
TEST_F(SampleCheckTest, ABatchThatIsDividedWronglyIsFound) {
  // Runs are counted, so the number of runs is right; each sample claims another length.
  sampler_.set_batch(4);
  check_.begin();
  for (int i = 0; i < 10; ++i) check_.once(3);
  EXPECT_THROW(check_.end(4), CaseError);
}

TEST(SampleCheck, AnInterruptionBetweenTheClocksExplainsItsOwnTimeAlone) {
  EXPECT_DOUBLE_EQ(compute_accountable_seconds(1, 1.001, 0.002), 1);  // all of the difference
  EXPECT_DOUBLE_EQ(compute_accountable_seconds(1, 1.5, 0.2), 1.3);    // a part
  EXPECT_DOUBLE_EQ(compute_accountable_seconds(1, 0.5, 0.2),
                   0.5);  // a sample that is too long: nothing
  EXPECT_DOUBLE_EQ(compute_accountable_seconds(0.5, 1, -0.3), 1);  // a clock that goes backwards
}

/// All ranks tell what the one rank has found, and where.
TEST(SampleCheckOfRanks, TheReasonIsThatOfTheRankThatFoundIt) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    WaitingWorkload workload;
    Sampler sampler(workload, ranks);
    SampleCheck check(workload, sampler, ranks, amounts);
    sampler.set_batch(4);
    check.begin();
    for (int i = 0; i < 10; ++i) check.once(ranks.rank() == 1 ? 3 : 4);
    try {
      check.end(4);
      FAIL() << "a wrong divisor on one rank passed";
    } catch (const CaseError& error) {
      EXPECT_EQ(std::string(error.what()).find("rank 1 on "), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(" shorter than the time"), std::string::npos);
    }
  });
}

TEST(SampleCheckOfRanks, OneRankThatDidLessEndsAll) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    WaitingWorkload workload;
    if (ranks.rank() == 1) workload.each = 25;
    TimingOptions options;
    options.max_time = 0.01;
    EXPECT_THROW(measure(workload, ranks, options, amounts), WrongResult);
  });
}

}  // namespace test_sample_check
}  // namespace assay
