#include "core/measure/timing.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "core/api/random.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_timing {

using testing_fakes::on_threads;
using testing_fakes::ScriptedWorkload;

/// A time with `spread` relative noise around `seconds`, the same on every platform.
std::function<double(int)> noisy(double seconds, double spread, std::uint64_t seed = 1) {
  const Values values(Values::Kind::mantissa, seed, "noise", DataType::fp64, 0);
  return [=](int run) { return seconds * (1 + spread * values(run)); };
}

TEST(Measure, SteadyTimesStopByPrecisionAtTheMinimum) {
  ScriptedWorkload workload([](int) { return 0x1p-7; });  // no sum of such times is rounded
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_EQ(timing.stopped_by, "precision");
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_EQ(timing.batch, 1);
  for (const double sample : timing.samples)
    EXPECT_EQ(sample, 0x1p-7);  // resets took 1024 s each, untimed
  EXPECT_EQ(workload.runs, workload.resets);
  // After a check that samples follow, one run is not timed.
  EXPECT_EQ(workload.runs, timing.warmup_runs + 10 + timing.audited_runs + 1);
}

TEST(Measure, SomeTimedRunsAreChecked) {
  std::set<std::vector<int>> places;
  for (int i = 0; i < 8; ++i) {
    ScriptedWorkload workload([](int) { return 0x1p-7; });
    const auto ranks = make_serial_communicator();
    const Timing timing = measure(workload, *ranks, {});
    EXPECT_TRUE(timing.audits.passed);
    // One moment among the samples, and both kinds after the last of them. Poisoned outputs come
    // twice in a row, which finds who computes every second run.
    const std::vector<Audit> last(workload.audits.end() - 3, workload.audits.end());
    EXPECT_EQ(last, (std::vector<Audit>{Audit::new_inputs, Audit::poisoned_outputs,
                                        Audit::poisoned_outputs}));
    EXPECT_GE(workload.audits.size(), 4u);
    EXPECT_EQ(timing.audited_runs, static_cast<int>(workload.audits.size()));
    EXPECT_GE(workload.audited_runs.front(), timing.warmup_runs);
    places.insert(workload.audited_runs);
  }
  EXPECT_GT(places.size(), 1u) << "a computation cannot know when";
}

/// Finds what it is told in its audit number `bad`.
class FoundOut final : public ScriptedWorkload {
 public:
  explicit FoundOut(std::size_t bad) : ScriptedWorkload([](int) { return 0x1p-7; }), bad_(bad) {}
  Verification end_audit() override {
    Verification verification = ScriptedWorkload::end_audit();
    verification.passed = audits.size() != bad_;
    verification.reason = "stale";
    return verification;
  }

 private:
  std::size_t bad_;
};

TEST(Measure, AWrongResultEndsTheTiming) {
  for (const std::size_t bad : {1u, 2u, 3u}) {
    FoundOut workload(bad);
    const auto ranks = make_serial_communicator();
    const Timing timing = measure(workload, *ranks, {});
    EXPECT_FALSE(timing.audits.passed);
    EXPECT_EQ(timing.audits.reason, "stale");
    EXPECT_LE(workload.audits.size(), bad + 1);
  }
}

TEST(Measure, AWrongResultOnOneRankEndsTheTimingOfAll) {
  std::atomic<int> found{0};
  testing_fakes::on_threads(3, [&](Communicator& ranks) {
    FoundOut workload(ranks.rank() == 1 ? 2 : 99);
    const Timing timing = measure(workload, ranks, {});
    if (!timing.audits.passed) ++found;
    EXPECT_LE(workload.audits.size(), 4u);
  });
  EXPECT_EQ(found, 1);
}

TEST(Measure, RunsThatComputeOnlyWhenOutputsArePoisonedAreImpossible) {
  ScriptedWorkload workload([&workload](int run) {
    const bool audited = !workload.audited_runs.empty() && workload.audited_runs.back() == run;
    return audited ? 0.5 : 0x1p-7;
  });
  const auto ranks = make_serial_communicator();
  try {
    measure(workload, *ranks, {});
    FAIL();
  } catch (const CaseError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("impossible: ")) << error.what();
  }
  // A busy machine that delays most of them is not that.
  int audited = 0;
  ScriptedWorkload delayed([&](int run) {
    const bool checked = !delayed.audited_runs.empty() && delayed.audited_runs.back() == run;
    return checked && ++audited < 8 ? 0.5 : 0x1p-7;
  });
  EXPECT_NO_THROW(measure(delayed, *ranks, {}));
}

TEST(Measure, ARunOnPoisonedOutputsMayNeedThreadsThatSleptDuringTheCheck) {
  // Worker threads sleep while results are read, and a busy machine wakes them late: the first five
  // runs after a check are slow, however often it is repeated.
  int audited = 0, slow = 0;
  ScriptedWorkload workload([&](int run) {
    const std::vector<int>& checked = workload.audited_runs;
    const bool audit = !checked.empty() && checked.back() == run;
    const bool delayed = audit && ++audited <= 3;  // before the repeats: by other work
    const double seconds = slow > 0 || delayed ? 0.5 : 0x1p-7;
    slow = audit && audited >= 3 ? 5 : std::max(0, slow - 1);
    return seconds;
  });
  EXPECT_NO_THROW(measure(workload, *make_serial_communicator(), {}));
}

TEST(Measure, AMachineThatBecameBusyIsNotAnImpossibleTime) {
  // Every run is slow from the end of the timed phase on.
  ScriptedWorkload workload([&](int run) {
    const std::vector<int>& checked = workload.audited_runs;
    const bool audit = !checked.empty() && checked.back() == run;
    return audit || checked.size() >= 4 ? 0.5 : 0x1p-7;
  });
  try {
    measure(workload, *make_serial_communicator(), {});
    FAIL();
  } catch (const CaseError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("disturbed: ")) << error.what();
  }
}

TEST(Measure, ATinyBudgetStillHasItsSamples) {
  // Every step takes longer on the wall than the whole budget.
  ScriptedWorkload workload([](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return 0x1p-10;
  });
  const auto ranks = make_serial_communicator();
  TimingOptions options;
  options.max_time = 0.001;
  const Timing timing = measure(workload, *ranks, options);
  EXPECT_GE(timing.samples.size(), 10u);
}

TEST(Measure, AMachineThatBecomesSlowIsNotWaitedFor) {
  // The clock on the wall counts, not the stream's: a chunk is cut where the budget ends.
  ScriptedWorkload workload([](int run) {
    if (run > 3000) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return 1e-5;
  });
  const auto ranks = make_serial_communicator();
  TimingOptions options;
  options.max_time = 0.05;
  options.precision_target = -1;  // never reached
  const Timing timing = measure(workload, *ranks, options);
  EXPECT_EQ(timing.stopped_by, "max_time");
  // 5000 samples make up the budget; at 2 ms each the second that there is at least has room for
  // 500.
  EXPECT_GT(workload.runs, 3000);
  EXPECT_LT(workload.runs, 3000 + 500 + 20);
}

TEST(Measure, EverySampleIsTheRunItself) {
  std::vector<double> script(2000);
  const auto noise = noisy(0.001, 0.3);
  for (std::size_t i = 0; i < script.size(); ++i) script[i] = noise(static_cast<int>(i));
  ScriptedWorkload workload([&](int run) { return script.at(static_cast<std::size_t>(run)); });
  const auto ranks = make_serial_communicator();
  TimingOptions options;
  options.max_time = 1;
  const Timing timing = measure(workload, *ranks, options);
  int run = timing.warmup_runs, skipped = 0;
  for (const double sample : timing.samples) {
    while (run < workload.runs && std::abs(script[static_cast<std::size_t>(run)] - sample) > 1e-9)
      ++run, ++skipped;
    ASSERT_LT(run++, workload.runs) << "a sample that is no run's time";
  }
  EXPECT_LE(skipped, 2 * timing.audited_runs) << "checked runs, and one after each check";
}

TEST(Measure, NoisyTimesTakeMoreSamplesUntilTheIntervalIsNarrow) {
  ScriptedWorkload workload(noisy(0.001, 0.05));
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_EQ(timing.stopped_by, "precision");
  EXPECT_GT(timing.samples.size(), 20u);
  const Summary summary = summarize(timing.samples);
  ASSERT_TRUE(summary.ci95);
  EXPECT_LE(summary.ci95->high - summary.ci95->low, 0.01 * summary.median);
}

TEST(Measure, TheBudgetEndsWhatIsTooNoisy) {
  ScriptedWorkload workload(noisy(0.01, 0.9));
  const auto ranks = make_serial_communicator();
  TimingOptions options;
  options.max_time = 1;
  const Timing timing = measure(workload, *ranks, options);
  EXPECT_EQ(timing.stopped_by, "max_time");
  const double total = std::accumulate(timing.samples.begin(), timing.samples.end(), 0.0);
  EXPECT_GE(total, 1);
  EXPECT_LT(total, 1.3);
}

TEST(Measure, MaxSamplesIsKept) {
  ScriptedWorkload workload(noisy(0.0001, 0.9));
  const auto ranks = make_serial_communicator();
  TimingOptions options;
  options.max_samples = 37;
  const Timing timing = measure(workload, *ranks, options);
  EXPECT_EQ(timing.stopped_by, "max_samples");
  EXPECT_EQ(timing.samples.size(), 37u);
}

TEST(Measure, AnIterationLongerThanTheBudgetIsTakenOnceAndSaysSo) {
  ScriptedWorkload workload([](int) { return 7.0; });
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_EQ(timing.stopped_by, "slow: one iteration exceeds the budget");
  EXPECT_EQ(timing.samples, std::vector<double>{7.0});
  EXPECT_EQ(timing.warmup_runs, 1);
  // Two in a row: code that computes in every second run must not pass by luck.
  const std::vector<Audit> last(workload.audits.end() - 2, workload.audits.end());
  EXPECT_EQ(last, (std::vector<Audit>{Audit::new_inputs, Audit::new_inputs}));
}

TEST(Measure, TheMinimumIsTakenEvenBeyondTheBudget) {
  ScriptedWorkload workload(noisy(1, 0.1));
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_EQ(timing.samples.size(), 10u);
  EXPECT_EQ(timing.stopped_by, "max_time");
}

TEST(Measure, WarmUpLastsWhileTimesFall) {
  // Starts three times slower and settles after 60 runs.
  ScriptedWorkload workload([](int run) { return 0.005 * (1 + 2 * std::exp(-run / 12.0)); });
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_GT(timing.warmup_runs, 30);
  EXPECT_LE(timing.warmup_s, 1.0 + 0.1);  // a fifth of max_time
  EXPECT_LT(timing.samples[0], 0.005 * 1.1);
}

TEST(Measure, WarmUpNeverExceedsAFifth) {
  ScriptedWorkload workload([](int run) { return 0.1 * std::pow(0.97, run) + 0.05; });
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_GE(timing.warmup_runs, 1);
  EXPECT_LE(timing.warmup_s, 1.0 + 0.15);
}

TEST(Measure, ShortRunsAreBatched) {
  ScriptedWorkload workload([](int) { return 1e-6; }, true);
  const auto ranks = make_serial_communicator();
  const Timing timing = measure(workload, *ranks, {});
  EXPECT_GE(timing.batch, 19);
  EXPECT_LE(timing.batch, 30);
  for (const double sample : timing.samples)
    EXPECT_NEAR(sample, 1e-6, 1e-9);  // per run, not per batch
  // After each check one more batch, for the caches.
  const int counted = timing.warmup_runs + timing.audited_runs +
                      timing.batch * static_cast<int>(timing.samples.size());
  EXPECT_EQ((workload.runs - counted) % timing.batch, 0);
  EXPECT_LE(workload.runs - counted, timing.audited_runs * timing.batch);
}

TEST(Measure, WhatMustBeResetIsNeverBatched) {
  ScriptedWorkload workload([](int) { return 1e-6; }, false);
  const auto ranks = make_serial_communicator();
  EXPECT_EQ(measure(workload, *ranks, {}).batch, 1);
  EXPECT_EQ(workload.runs, workload.resets);
}

TEST(Measure, TheClocksOwnCostIsTold) {
  ScriptedWorkload workload([](int) { return 1e-6; }, false);
  const auto ranks = make_serial_communicator();
  EXPECT_EQ(measure(workload, *ranks, {}).timer_overhead_s, 0);
  ScriptedWorkload dear([](int) { return 1e-6; }, false);
  static_cast<testing_fakes::ScriptedStream&>(dear.stream()).clock_cost = 30e-9;
  const Timing timing = measure(dear, *ranks, {});
  EXPECT_NEAR(timing.timer_overhead_s, 30e-9, 1e-9);
  EXPECT_NEAR(timing.samples[0], 1.03e-6, 1e-9);
  EXPECT_EQ(dear.runs, dear.resets) << "it is measured without a run";
}

TEST(Measure, AnExceptionInTheLoopComesOutAndTheNextCaseRuns) {
  const auto ranks = make_serial_communicator();
  for (const int when : {0, 1, 5, 12, 14}) {  // in warm-up, in the first chunk, in a later one
    ScriptedWorkload workload([when](int run) {
      if (run == when) throw CaseError("device lost");
      return 0.05 + 0.001 * (run % 7);
    });
    try {
      measure(workload, *ranks, {});
      FAIL() << when;
    } catch (const CaseError& error) {
      EXPECT_STREQ(error.what(), "device lost");
    }
    EXPECT_EQ(workload.runs, when + 1) << "no run after a failure";
  }
  ScriptedWorkload good([](int) { return 0x1p-7; });
  EXPECT_EQ(measure(good, *ranks, {}).samples.size(), 10u);
}

TEST(Measure, NothingIsPrinted) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ScriptedWorkload workload([](int) { return 0.01; });
  const auto ranks = make_serial_communicator();
  measure(workload, *ranks, {});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

/// Google Benchmark reads BENCHMARK_* before main, so this needs a process of its own; the child
/// runs one test.
TEST(Measure, TheEnvironmentOfGoogleBenchmarkHasNoEffect) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string out =
      testing::TempDir() + "/assay_benchmark_out" + std::to_string(::getpid()) + ".json";
  std::remove(out.c_str());
  const std::string command =
      "BENCHMARK_OUT=" + out +
      " BENCHMARK_LIST_TESTS=true BENCHMARK_FILTER=nothing BENCHMARK_REPETITIONS=3 "
      "BENCHMARK_MIN_WARMUP_TIME=1"
      " BENCHMARK_ENABLE_RANDOM_INTERLEAVING=true BENCHMARK_FORMAT=json '" +
      self +
      "' --gtest_filter=Measure.SteadyTimesStopByPrecisionAtTheMinimum:Measure.NothingIsPrinted > "
      "/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(MeasureRanks, TheSlowestCountsAndAllTakeTheSameIterations) {
  for (const int size : {2, 4}) {
    std::mutex mutex;
    std::vector<int> runs;
    std::vector<Timing> timings;
    on_threads(size, [&](Communicator& ranks) {
      // Rank 1 is slowest in two of three runs, rank 0 in the third.
      const int rank = ranks.rank();
      ScriptedWorkload workload([rank](int run) {
        return run % 3 == 0 ? (rank == 0 ? 0.03 : 0.01) : (rank == 1 ? 0.02 : 0.015);
      });
      TimingOptions options;
      options.max_time = 2;
      const Timing timing = measure(workload, ranks, options);
      const std::lock_guard lock(mutex);
      runs.push_back(workload.runs);
      timings.push_back(timing);
    });
    for (const Timing& timing : timings) {
      EXPECT_EQ(timing.samples, timings[0].samples);
      EXPECT_EQ(timing.slowest_rank, 1);
      EXPECT_EQ(timing.slowest_host, "threads0");
      ASSERT_EQ(timing.rank_medians.size(), static_cast<std::size_t>(size));
      EXPECT_NEAR(timing.rank_medians[1], 0.02, 1e-9);
      EXPECT_NEAR(timing.rank_medians[0], 0.015, 1e-9);
      EXPECT_GT(timing.skew_s, 0);
      EXPECT_EQ(timing.stopped_by, timings[0].stopped_by);
      for (const double sample : timing.samples)
        EXPECT_TRUE(std::abs(sample - 0.02) < 1e-9 || std::abs(sample - 0.03) < 1e-9) << sample;
    }
    for (const int count : runs) EXPECT_EQ(count, runs[0]);
  }
}

TEST(MeasureRanks, BatchesAreChosenOnce) {
  std::mutex mutex;
  std::vector<int> batches;
  on_threads(2, [&](Communicator& ranks) {
    ScriptedWorkload workload([&](int) { return ranks.rank() == 0 ? 1e-6 : 3e-6; }, true);
    const Timing timing = measure(workload, ranks, {});
    const std::lock_guard lock(mutex);
    batches.push_back(timing.batch);
    EXPECT_NEAR(timing.samples[0], 3e-6, 1e-9);
  });
  EXPECT_EQ(batches[0], batches[1]);
}

}  // namespace test_timing
}  // namespace assay
