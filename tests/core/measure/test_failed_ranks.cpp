// A rank that fails while it is timed, with devices that are held and others.

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/measure/timing.hpp"
#include "tests/core/scripted_workload.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_failed_ranks {

using testing_fakes::on_threads;
using testing_fakes::ScriptedWorkload;

TEST(MeasureRanks, ARankThatThrowsMakesAllThrow) {
  for (const auto& [when, held] : {std::pair{0, false},
                                   {3, false},
                                   {8, false},
                                   {15, false},
                                   {0, true},
                                   {3, true},
                                   {8, true},
                                   {15, true}}) {
    std::atomic<int> own = 0, others = 0, fine = 0;
    on_threads(3, [&, when = when, held = held](Communicator& ranks) {
      ScriptedWorkload workload([&, when = when](int run) {
        if (ranks.rank() == 2 && run == when) throw std::runtime_error("bad block");
        return 0.05 + 0.01 * (run % 5);
      });
      static_cast<testing_fakes::ScriptedStream&>(workload.stream()).can_hold = held;
      try {
        measure(workload, ranks, {});
        ++fine;
      } catch (const CaseError& error) {
        EXPECT_NE(std::string(error.what()).find("rank 2 failed (bad block)"), std::string::npos)
            << error.what();
        ++others;
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "bad block");
        ++own;
      }
      // The ranks are in step afterwards: the next case can run.
      ScriptedWorkload next([](int) { return 0.05; });
      EXPECT_EQ(measure(next, ranks, {}).samples.size(), 10u);
    });
    EXPECT_EQ(own, 1);
    EXPECT_EQ(others, 2);
    EXPECT_EQ(fine, 0);
  }
}

/// A workload whose checks of an audited run are collective, as those of a training.
class CheckedTogether final : public ScriptedWorkload {
 public:
  CheckedTogether(std::function<double(int)> seconds, Communicator& ranks)
      : ScriptedWorkload(std::move(seconds)), ranks_(ranks) {}
  Verification end_audit() override {
    ranks_.barrier();
    return ScriptedWorkload::end_audit();
  }

 private:
  Communicator& ranks_;
};

TEST(MeasureRanks, NoRankWaitsInTheChecksForOneThatFailedInAnAuditedRun) {
  std::atomic<int> told = 0;
  on_threads(3, [&](Communicator& ranks) {
    CheckedTogether* self = nullptr;
    CheckedTogether workload(
        [&](int run) {
          if (ranks.rank() == 2 && !self->audited_runs.empty() && self->audited_runs.back() == run)
            throw std::runtime_error("bad block");
          return 0.05;
        },
        ranks);
    self = &workload;
    try {
      measure(workload, ranks, {});
    } catch (const std::exception& error) {
      told += std::string(error.what()).find("bad block") != std::string::npos ? 1 : 0;
    }
    EXPECT_FALSE(workload.audits.empty());
  });
  EXPECT_EQ(told, 3);
}

}  // namespace test_failed_ranks
}  // namespace assay
