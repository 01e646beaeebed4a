// Which run is the last of a series, where two hosts have two clocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/history/order.hpp"
#include "tests/support/rows.hpp"

namespace assay {
namespace {

using nlohmann::json;

NamedResult run(const char* host, const char* started, const char* finished) {
  json made = test::result({test::row("ok", 1)});
  made["run"]["id"] = started;
  made["run"]["started"] = fmt::format("2026-01-01T{}Z", started);
  made["run"]["finished"] = fmt::format("2026-01-01T{}Z", finished);
  made["environments"] = {{{"host", host},
                           {"hardware", json::object()},
                           {"software", json::object()},
                           {"volatile", json::object()},
                           {"hashes", {{"hardware", "hw"}, {"software", "sw"}}}}};
  return {fmt::format("file of {}", host), made};
}

std::vector<std::string> doubts(const std::vector<NamedResult>& results,
                                double now = seconds_now()) {
  return doubts_of_order(results, histories_of(results, std::nullopt, std::nullopt), now);
}

TEST(OrderOfRuns, RunsOfTwoHostsThatOverlapAreNamed) {
  const auto found = doubts({run("a", "08:00:00", "09:00:00"), run("b", "08:30:00", "08:40:00")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(test::has(found[0], "file of b counts as the last run")) << found[0];
  EXPECT_TRUE(test::has(found[0], "file of a on a had not ended")) << found[0];
}

TEST(OrderOfRuns, OfManyTheirNumberIsNamed) {
  std::vector<NamedResult> fleet;
  for (const char* begun : {"08:00:00", "08:00:01", "08:00:02", "08:00:03", "08:00:04", "08:00:05"})
    fleet.push_back(run(begun, begun, "09:00:00"));
  fleet.push_back(run("g", "08:30:00", "08:40:00"));
  const auto found = doubts(fleet);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_TRUE(test::has(found[3], "and 3 more")) << found[3];
}

TEST(OrderOfRuns, OneClockOrOneAfterTheOtherIsNoDoubt) {
  EXPECT_TRUE(doubts({run("a", "08:00:00", "09:00:00"), run("a", "08:30:00", "08:40:00")}).empty());
  EXPECT_TRUE(doubts({run("a", "08:00:00", "08:30:00"), run("b", "08:30:00", "08:40:00")}).empty());
}

TEST(OrderOfRuns, ALastRunInTheFutureIsNamed) {
  const double now = time_of("2026-01-01T07:59:00Z", "now");
  const auto found = doubts({run("a", "08:00:00", "08:01:00")}, now);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(test::has(found[0], "in the future of this machine's clock")) << found[0];
}

}  // namespace
}  // namespace assay
