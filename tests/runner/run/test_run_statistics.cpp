// A run keeps the version of the statistics with which it was begun.
#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/machine/environment.hpp"
#include "core/result/journal.hpp"
#include "runner/run/result_file.hpp"
#include "runner/run/run_plan.hpp"

namespace assay {
namespace test_run_statistics {

using nlohmann::json;

/// The event with which the journal of a run begins.
json begin(const RunPlan& plan) {
  return begin_event(begin_header(plan, {}), false, capture_environment());
}

TEST(RunStatistics, AreAnnounced) { EXPECT_EQ(begin(RunPlan{})["statistics"], statistics_version); }

TEST(RunStatistics, AResultHasThoseOfItsRows) {
  json run = begin(RunPlan{});
  EXPECT_EQ(make_run_result(make_record({run}), {}).run.statistics, statistics_version);
  run["statistics"] = 7;
  EXPECT_EQ(make_run_result(make_record({run}), {}).run.statistics, 7);
  run.erase("statistics");  // a journal from before versions were named
  EXPECT_EQ(make_run_result(make_record({run}), {}).run.statistics, 1);
}

TEST(RunStatistics, NoRunGoesOnWithOthers) {
  const RunPlan plan;
  json run = begin(plan);
  EXPECT_TRUE(check_finished(plan, make_record({run})).empty());
  run["statistics"] = 7;
  try {
    check_finished(plan, make_record({run}));
    FAIL() << "rows of two versions would stand in one file";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("statistics was 7 there, now it is 1"),
              std::string::npos)
        << error.what();
  }
  run.erase("statistics");
  EXPECT_TRUE(check_finished(plan, make_record({run})).empty()) << "version 1 was not named yet";
}

}  // namespace test_run_statistics
}  // namespace assay
