// Untimed refilling that takes longer than the budget: each loop of the timing ends.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_slow_refill {

using std::chrono::milliseconds;
using testing_fakes::on_threads;
using testing_fakes::ScriptedWorkload;

/// Refills longer than it computes, except in audits, and ends a loop that never does.
class SlowToRefill final : public ScriptedWorkload {
 public:
  explicit SlowToRefill(milliseconds refilling)
      : ScriptedWorkload([](int) { return 1e-5; }), refilling_(refilling) {}
  void begin_audit(Audit kind) override {
    ScriptedWorkload::begin_audit(kind);
    audited_ = true;
  }
  Verification end_audit() override {
    audited_ = false;
    return ScriptedWorkload::end_audit();
  }
  void reset() override {
    ScriptedWorkload::reset();
    if (audited_) return;
    if (++refills > most) throw CaseError("endless: it is refilled again and again.");
    std::this_thread::sleep_for(refilling_);
  }

  static constexpr int most = 100;
  int refills = 0;

 private:
  milliseconds refilling_;
  bool audited_ = false;
};

// Longer than the second that samples have at least.
constexpr milliseconds beyond(1050);

TEST(SlowRefill, LeavesOneSample) {
  TimingOptions options;
  options.max_time = 0.001;
  SlowToRefill workload(beyond);
  workload.refills = SlowToRefill::most - 8;
  const Timing timing = measure(workload, *make_serial_communicator(), options);
  EXPECT_EQ(timing.samples.size(), 1u);
  EXPECT_EQ(timing.stopped_by, "max_time");
}

TEST(SlowRefill, OfOneRankLeavesOneSampleOfAll) {
  TimingOptions options;
  options.max_time = 0.001;
  on_threads(2, [&](Communicator& ranks) {
    SlowToRefill workload(ranks.rank() == 1 ? beyond : milliseconds(0));
    if (ranks.rank() == 1) workload.refills = SlowToRefill::most - 8;
    EXPECT_EQ(measure(workload, ranks, options).samples.size(), 1u);
  });
}

TEST(SlowRefill, EndsAWarmUpWindowWithItsBudget) {
  // By its computing time alone a window has 1000 runs.
  TimingOptions options;
  options.max_time = 0.1;  // 40 ms of warm-up on the wall
  SlowToRefill workload(milliseconds(20));
  EXPECT_LE(measure(workload, *make_serial_communicator(), options).warmup_runs, 3);
}

}  // namespace test_slow_refill
}  // namespace assay
