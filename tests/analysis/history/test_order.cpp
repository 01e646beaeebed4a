// The last run of a series is found although two hosts have two clocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/history/points.hpp"
#include "tests/analysis/history/history_runs.hpp"

namespace assay {
namespace test_order {

NamedResult run(const char* host, const char* started, const char* finished) {
  NamedResult run = test::history_run(0, {test::row("ok", 1)});
  run.name = fmt::format("file of {}", host);
  run.result.run.id = started;
  run.result.run.started = fmt::format("2026-01-01T{}Z", started);
  run.result.run.finished = fmt::format("2026-01-01T{}Z", finished);
  run.result.environments[0].host = host;
  return run;
}

std::vector<std::string> doubts(const std::vector<NamedResult>& results,
                                double now = seconds_now()) {
  return find_order_doubts(results, collect_history(results, std::nullopt, std::nullopt), now);
}

TEST(OrderOfRuns, RunsOfTwoHostsThatOverlapAreNamed) {
  const auto lines = doubts({run("a", "08:00:00", "09:00:00"), run("b", "08:30:00", "08:40:00")});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(test::has(lines[0], "file of b counts as the last run")) << lines[0];
  EXPECT_TRUE(test::has(lines[0], "file of a on a had not ended")) << lines[0];
}

TEST(OrderOfRuns, OfManyTheirNumberIsNamed) {
  std::vector<NamedResult> fleet;
  for (const char* begun : {"08:00:00", "08:00:01", "08:00:02", "08:00:03", "08:00:04", "08:00:05"})
    fleet.push_back(run(begun, begun, "09:00:00"));
  fleet.push_back(run("g", "08:30:00", "08:40:00"));
  const auto lines = doubts(fleet);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(test::has(lines[3], "and 3 more")) << lines[3];
}

TEST(OrderOfRuns, OneClockOrOneAfterTheOtherIsNoDoubt) {
  EXPECT_TRUE(doubts({run("a", "08:00:00", "09:00:00"), run("a", "08:30:00", "08:40:00")}).empty());
  EXPECT_TRUE(doubts({run("a", "08:00:00", "08:30:00"), run("b", "08:30:00", "08:40:00")}).empty());
}

TEST(OrderOfRuns, ALastRunInTheFutureIsNamed) {
  const double now = parse_time("2026-01-01T07:59:00Z", "now");
  const auto lines = doubts({run("a", "08:00:00", "08:01:00")}, now);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(test::has(lines[0], "in the future of this machine's clock")) << lines[0];
}

}  // namespace test_order
}  // namespace assay
