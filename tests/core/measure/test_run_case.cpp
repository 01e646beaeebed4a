#include "core/measure/run_case.hpp"

#include <gtest/gtest.h>

#include "fake_benchmark.hpp"
#include "thread_communicator.hpp"

namespace assay {
namespace test_run_case {

using testing_fakes::FakeBenchmark;
using testing_fakes::Script;

class RunCase : public ::testing::Test {
 protected:
  Outcome run() {
    CaseContext context{plugins_, *ranks_, 1, 1e6};
    TimingOptions timing;
    timing.max_time = 0.01;
    return run_case(
        [&] {
          return benchmark_.prepare(Case{"id", {}, {}, false}, context);
        },
        *ranks_, timing);
  }
  FakeBenchmark benchmark_;
  Plugins plugins_{std::vector<std::filesystem::path>{}};
  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
};

TEST_F(RunCase, AGoodCaseHasTimesWorkAndVerification) {
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "ok");
  ASSERT_TRUE(outcome.timing);
  EXPECT_GE(outcome.timing->samples.size(), 10u);
  EXPECT_TRUE(outcome.verification->passed);
  EXPECT_EQ(outcome.execution->implementation, "fake");
  EXPECT_EQ(outcome.work.at("flops_per_s"), 100);
  EXPECT_EQ(outcome.setup.at("create"), 0.5);
}

TEST_F(RunCase, ARefusalKeepsItsReason) {
  benchmark_.refusal = "no such instructions";
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "unsupported");
  EXPECT_EQ(outcome.reason, "no such instructions");
  EXPECT_FALSE(outcome.timing);
}

TEST_F(RunCase, AWrongResultBeforeTimingIsNeverTimed) {
  int runs = 0;
  benchmark_.script.run = [&] { ++runs; };
  benchmark_.script.before = [] { return Script::bad("dst[3] is 1 (expected 2)"); };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "incorrect");
  EXPECT_EQ(outcome.reason, "dst[3] is 1 (expected 2)");
  EXPECT_FALSE(outcome.timing);
  EXPECT_EQ(runs, 0);
}

TEST_F(RunCase, WhatItsBoundCannotDecideIsUnsupported) {
  benchmark_.script.before = [] {
    Verification verification = Script::bad("an error bound of 8 times the results");
    verification.undecided = true;
    return verification;
  };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "unsupported");
  EXPECT_EQ(outcome.reason, "an error bound of 8 times the results");
  EXPECT_FALSE(outcome.timing);
}

TEST_F(RunCase, ATrainingThatMissedItsTargetIsRightAndHasNoTime) {
  benchmark_.script.after = [] {
    Verification verification = Script::bad("an accuracy of 0.3, not 0.9");
    verification.target_missed = true;
    return verification;
  };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "target missed");
  EXPECT_EQ(outcome.reason, "an accuracy of 0.3, not 0.9");
  EXPECT_TRUE(outcome.verification->passed);
  EXPECT_EQ(outcome.verification->reason, "");
  EXPECT_FALSE(outcome.timing);
}

TEST_F(RunCase, Tf32WithTheErrorsOfFp32IsUnsupported) {
  const auto with_error = [this](double norm_error, double norm_bound) {
    benchmark_.script.before = [=] {
      Verification verification = Script::good();
      verification.norm_error = norm_error;
      verification.norm_bound = norm_bound;
      return verification;
    };
    return run();
  };
  Execution& execution = benchmark_.script.execution;
  execution.storage = "fp32";
  execution.compute = "tf32";
  const Outcome outcome = with_error(2e-7, 2e-3);
  EXPECT_EQ(outcome.status, "unsupported");
  EXPECT_NE(outcome.reason.find("silently promoted"), std::string::npos) << outcome.reason;
  EXPECT_FALSE(outcome.timing);
  EXPECT_EQ(with_error(3e-4, 2e-3).status, "ok");
  EXPECT_EQ(with_error(2e-6, 1e-5).status, "ok");  // products are a small summand
  EXPECT_EQ(with_error(0, 0).status, "ok");        // integers alone, exact in both
  execution.storage = "fp16";                      // exact in tf32, too
  EXPECT_EQ(with_error(2e-7, 2e-3).status, "ok");
  execution.storage = "fp32";
  execution.evidence = "trace";  // the names of kernels prove it
  EXPECT_EQ(with_error(2e-7, 2e-3).status, "ok");
}

TEST_F(RunCase, AWrongResultAfterTimingTakesTheTimesAway) {
  benchmark_.script.after = [] { return Script::bad("late"); };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "incorrect");
  EXPECT_EQ(outcome.reason, "late");
  EXPECT_FALSE(outcome.verification->passed);
  EXPECT_FALSE(outcome.timing);
}

TEST_F(RunCase, AWrongResultWhileItIsTimedEndsTheTiming) {
  int runs = 0;
  benchmark_.script.run = [&] {
    if (++runs == 5) throw WrongResult("training diverged");
  };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "incorrect");
  EXPECT_EQ(outcome.reason, "training diverged");
  EXPECT_FALSE(outcome.timing);
  EXPECT_EQ(runs, 5);
}

TEST_F(RunCase, ExceptionsOfEveryStepBecomeFailedRows) {
  benchmark_.failure = [] { throw CaseError("needs 3 GiB, there is 1 GiB"); };
  EXPECT_EQ(run().status, "failed");
  EXPECT_EQ(run().reason, "needs 3 GiB, there is 1 GiB");
  benchmark_.failure = [] { throw std::bad_alloc(); };
  EXPECT_EQ(run().status, "failed");
  benchmark_.failure = nullptr;
  benchmark_.script.run = [] { throw std::runtime_error("in the loop"); };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status, "failed");
  EXPECT_EQ(outcome.reason, "in the loop");
  EXPECT_FALSE(outcome.timing);
}

/// The outcomes of three ranks, each with a benchmark of its own that `change` has changed.
std::vector<Outcome> on_three(const std::function<void(FakeBenchmark&, int rank)>& change) {
  std::vector<Outcome> all(3);
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    Plugins plugins{std::vector<std::filesystem::path>{}};
    CaseContext context{plugins, ranks, 1, 1e6};
    TimingOptions timing;
    timing.max_time = 0.01;
    FakeBenchmark benchmark;
    change(benchmark, ranks.rank());
    all[static_cast<std::size_t>(ranks.rank())] = run_case(
        [&] {
          return benchmark.prepare(Case{"id", {}, {}, false}, context);
        },
        ranks, timing);
  });
  return all;
}

TEST(RunCaseRanks, TheVerificationIsThatOfAllRanks) {
  const auto outcomes = on_three([](FakeBenchmark& benchmark, int rank) {
    benchmark.script.before = [rank] {
      Verification verification = Script::good();
      verification.checked = 10 + rank;
      verification.outputs = 20;
      verification.max_error = rank;
      return verification;
    };
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, "ok") << outcome.reason;
    EXPECT_EQ(outcome.verification->checked, 33);
    EXPECT_EQ(outcome.verification->outputs, 60);
    EXPECT_EQ(outcome.verification->max_error, 2);
    EXPECT_EQ(outcome.timing->rank_medians.size(), 3u);
  }
}

TEST(RunCaseRanks, WhatOneRankFindsIsEverybodys) {
  auto outcomes = on_three([](FakeBenchmark& benchmark, int rank) {
    if (rank == 2) benchmark.script.before = [] { return Script::bad("dst[0] is 7"); };
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, "incorrect");
    EXPECT_EQ(outcome.reason, "rank 2 on threads0: dst[0] is 7");
    EXPECT_FALSE(outcome.verification->passed);
    EXPECT_FALSE(outcome.timing);
  }
  // A check that throws on one rank leaves the others in step.
  outcomes = on_three([](FakeBenchmark& benchmark, int rank) {
    if (rank == 1) benchmark.script.after = []() -> Verification { throw CaseError("no memory"); };
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, "failed");
    EXPECT_EQ(outcome.reason, "rank 1 on threads0: no memory");
  }
}

TEST(RunCaseRanks, WhatAllRanksRefuseIsNobodysAlone) {
  const auto outcomes =
      on_three([](FakeBenchmark& benchmark, int) { benchmark.refusal = "no such instructions"; });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, "unsupported");
    EXPECT_EQ(outcome.reason, "no such instructions");
  }
}

}  // namespace test_run_case
}  // namespace assay
