// The marks of disturbed times.
#include <gtest/gtest.h>

#include "result_fixture.hpp"

namespace assay {
namespace test_marks {

using fixture::expect_valid;
using fixture::good_outcome;
using nlohmann::json;

TEST(Mark, SharedProcessorsAreTold) {
  for (const char* reading : {"waiting", "stolen"}) {
    json row = fixture::row(good_outcome());
    EXPECT_FALSE(was_shared(row));
    row["time_s"][reading] = 0.05;
    EXPECT_FALSE(was_shared(row));
    row["time_s"][reading] = 0.051;
    EXPECT_TRUE(was_shared(row));
    row["time_s"] = nullptr;
    EXPECT_FALSE(was_shared(row));
  }
}

TEST(Mark, WaitingForItsOwnJobIsNoForeignWork) {
  Outcome outcome = good_outcome();
  outcome.timing->contention.waiting = 1.2;
  outcome.timing->contention.foreign = 0.04;
  outcome.timing->contention.own = 1.9;
  json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_EQ(row["time_s"]["foreign"], 0.04);
  EXPECT_EQ(row["time_s"]["own"], 1.9);
  EXPECT_FALSE(was_shared(row));
  EXPECT_TRUE(was_oversubscribed(row));
  row["time_s"]["foreign"] = 0.06;
  EXPECT_TRUE(was_shared(row));
  EXPECT_FALSE(was_oversubscribed(row));
  // Foreign work that nobody waited for is on other processors.
  row["time_s"]["waiting"] = 0.01;
  EXPECT_FALSE(was_shared(row));
  EXPECT_FALSE(was_oversubscribed(row));
  // Unknown, as in older files: waiting alone counts.
  row["time_s"]["waiting"] = 1.2;
  row["time_s"]["foreign"] = nullptr;
  EXPECT_TRUE(was_shared(row));
  row["time_s"].erase("foreign");
  EXPECT_TRUE(was_shared(row));
}

TEST(Mark, AHeldDeviceWaitsForNoProcessor) {
  json row{{"time_s", {{"waiting", 2.0}, {"foreign", 2.0}, {"stolen", 0.5}, {"throttled", 0.5}}}};
  EXPECT_EQ(choose_mark(row), shared_mark);
  row["time_s"]["held"] = true;
  EXPECT_FALSE(was_shared(row));
  EXPECT_EQ(choose_mark(row), "");
  row["parameters"]["ranks"] = 2;
  EXPECT_EQ(choose_mark(row), shared_mark) << "processors move the data of collectives";
  row["parameters"]["ranks"] = 1;
  row["device_state"] = {{"seconds", 1.0}, {"throttled_s", {{"heat", 0.5}}}};
  EXPECT_EQ(choose_mark(row), throttled_mark) << "which is the device's own";
}

TEST(Mark, AQuotaThatWasUsedUpIsTold) {
  Outcome outcome = good_outcome();
  outcome.timing->contention.waiting = 0.5;  // for the next period of the quota
  outcome.timing->contention.foreign = 0;
  outcome.timing->contention.throttled = 0.04;
  json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_EQ(choose_mark(row), "~");
  row["time_s"]["throttled"] = 0.06;
  EXPECT_EQ(choose_mark(row), "!");
  EXPECT_FALSE(was_oversubscribed(row));
}

json throttled_row(double part, const char* reason = "power") {
  Outcome outcome = good_outcome();
  outcome.timing->device_state = {{"before", {{"clock_hz", 1.98e9}, {"temperature_celsius", 60}}},
                                  {"after", {{"clock_hz", 1.4e9}, {"power_limit_w", 700}}},
                                  {"seconds", 2},
                                  {"throttled_s", {{reason, 2 * part}}},
                                  {"steady", true}};
  return fixture::row(outcome);
}

TEST(Mark, AThrottledDeviceIsTold) {
  json row = throttled_row(0.051);
  expect_valid(row);
  EXPECT_EQ(row["device_state"]["after"]["clock_hz"], 1.4e9);
  EXPECT_EQ(choose_mark(row), "\u00b0");
  EXPECT_EQ(choose_mark(throttled_row(0.05)), "");
  EXPECT_EQ(choose_mark(throttled_row(0.5, "hardware heat")), "\u00b0");
  EXPECT_EQ(choose_mark(throttled_row(0.5, "reliability")), "") << "neither power nor heat";
  row["time_s"]["waiting"] = 0.5;
  row["time_s"]["foreign"] = 0;
  EXPECT_EQ(choose_mark(row), "\u00b0") << "before ~";
  row["time_s"]["foreign"] = 1;
  EXPECT_EQ(choose_mark(row), "!");
  EXPECT_FALSE(fixture::row(good_outcome()).contains("device_state"));
}

TEST(Mark, OfTwoTheMoreSevereCounts) {
  EXPECT_EQ(worse_mark("", ""), "");
  EXPECT_EQ(worse_mark("~", ""), "~");
  EXPECT_EQ(worse_mark("~", throttled_mark), throttled_mark);
  EXPECT_EQ(worse_mark("!", throttled_mark), "!");
  EXPECT_EQ(choose_mark(false, true), throttled_mark);
  EXPECT_EQ(choose_mark(true, true), "!");
  EXPECT_EQ(choose_mark(false, false), "");
}

TEST(Mark, TheOnlyThreadMustHaveRunWhileTimed) {
  json row = fixture::row(good_outcome());
  row["time_s"]["own"] = 0.51;
  row["parameters"] = {{"backend", "native"}, {"threads", 1}};
  EXPECT_EQ(choose_mark(row), "!");
  row["time_s"]["own"] = 0.96;
  EXPECT_EQ(choose_mark(row), "");
  row["time_s"]["own"] = 0.51;
  // These may wait rightfully: teams, ranks, for an accelerator, for files.
  for (const json& other : {json{{"threads", 2}}, json{{"ranks", 2}}, json{{"device", "cuda"}},
                            json{{"page_cache", "cached"}}}) {
    json waits = row;
    waits["parameters"].update(other);
    EXPECT_EQ(choose_mark(waits), "") << other;
  }
  row["parameters"].erase("backend");  // of a transport
  EXPECT_EQ(choose_mark(row), "");
  row["parameters"]["backend"] = "native";
  row["time_s"] = nullptr;
  EXPECT_EQ(choose_mark(row), "");
}

}  // namespace test_marks
}  // namespace assay
