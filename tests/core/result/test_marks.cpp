// The marks of disturbed times: ! and ~.
#include <gtest/gtest.h>

#include "result_fixture.hpp"

namespace assay {
namespace {

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

TEST(Mark, AQuotaThatWasUsedUpIsTold) {
  Outcome outcome = good_outcome();
  outcome.timing->contention.waiting = 0.5;  // for the next period of the quota
  outcome.timing->contention.foreign = 0;
  outcome.timing->contention.throttled = 0.04;
  json row = fixture::row(outcome);
  expect_valid(row);
  EXPECT_EQ(mark_of(row), "~");
  row["time_s"]["throttled"] = 0.06;
  EXPECT_EQ(mark_of(row), "!");
  EXPECT_FALSE(was_oversubscribed(row));
}

TEST(Mark, TheOnlyThreadMustHaveRunWhileTimed) {
  json row = fixture::row(good_outcome());
  row["time_s"]["own"] = 0.51;
  row["parameters"] = {{"backend", "native"}, {"threads", 1}};
  EXPECT_EQ(mark_of(row), "!");
  row["time_s"]["own"] = 0.96;
  EXPECT_EQ(mark_of(row), "");
  row["time_s"]["own"] = 0.51;
  // Those may wait rightfully: teams, ranks, for an accelerator, for files.
  for (const json& other : {json{{"threads", 2}}, json{{"ranks", 2}}, json{{"device", "cuda"}},
                            json{{"page_cache", "cached"}}, json{{"epochs", 3}}}) {
    json waits = row;
    waits["parameters"].update(other);
    EXPECT_EQ(mark_of(waits), "") << other;
  }
  row["parameters"].erase("backend");  // of a transport
  EXPECT_EQ(mark_of(row), "");
  row["parameters"]["backend"] = "native";
  row["time_s"] = nullptr;
  EXPECT_EQ(mark_of(row), "");
}

}  // namespace
}  // namespace assay
