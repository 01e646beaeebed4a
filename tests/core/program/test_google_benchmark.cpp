// Rows in the JSON of Google Benchmark: only a row that is ok has a time.
#include "core/program/google_benchmark.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/result/result.hpp"
#include "result_fixture.hpp"

namespace test_google_benchmark {

using namespace assay;
using nlohmann::json;

json row_of(const Outcome& outcome) {
  return make_row("conv", fixture::one_case(), nullptr, outcome, 0, 0, 0, 1, 1);
}

json entries_of(const json& rows) {
  return json::parse(render_google_benchmark_json("assay-conv", rows)).at("benchmarks");
}

TEST(GoogleBenchmark, ARowIsARunAndWhatItsSamplesHaveTogether) {
  Outcome outcome = fixture::good_outcome();
  outcome.timing->samples = {1e-3, 3e-3, 8e-3};
  outcome.timing->batch = 2;
  json row = row_of(outcome);
  row["rates"] = {{"flops_per_s", 2e9}, {"unknown", nullptr}};
  const json entries = entries_of(json::array({row}));
  ASSERT_EQ(entries.size(), 4U);
  const std::string id = row.at("id");
  const json& run = entries[0];
  EXPECT_EQ(run.at("name"), id);
  EXPECT_EQ(run.at("run_type"), "iteration");
  EXPECT_EQ(run.at("iterations"), 6);
  EXPECT_EQ(run.at("repetitions"), 1);
  EXPECT_EQ(run.at("time_unit"), "ns");
  EXPECT_NEAR(run.at("real_time"), 3e6, 1e-6);
  EXPECT_EQ(run.at("cpu_time"), 0.0);
  EXPECT_EQ(run.at("flops_per_s"), 2e9);
  EXPECT_FALSE(run.contains("unknown"));
  EXPECT_EQ(run.at("label"), "jit:avx2");
  const std::pair<const char*, double> together[] = {
      {"mean", 4e6}, {"median", 3e6}, {"stddev", std::sqrt(13.0) * 1e6}};
  for (std::size_t i = 0; i < 3; ++i) {
    const json& entry = entries[i + 1];
    EXPECT_EQ(entry.at("name"), id + "_" + together[i].first);
    EXPECT_EQ(entry.at("run_type"), "aggregate");
    EXPECT_EQ(entry.at("aggregate_name"), together[i].first);
    EXPECT_EQ(entry.at("iterations"), 3);
    EXPECT_NEAR(entry.at("real_time"), together[i].second, 1e-6);
  }
}

TEST(GoogleBenchmark, ARowThatIsNotOkHasAReasonAndNoTime) {
  for (const char* status : {"incorrect", "failed", "unsupported", "target missed"}) {
    Outcome outcome = fixture::good_outcome();
    outcome.status = status;
    outcome.reason = "why \"not\"";
    json row = row_of(outcome);
    row["time_s"] = {{"median", 1e-3}};  // whatever else it has
    const json entries = entries_of(json::array({row}));
    ASSERT_EQ(entries.size(), 1U);
    const json& entry = entries[0];
    EXPECT_EQ(entry.at("run_name"), row.at("id"));
    EXPECT_EQ(entry.at("name"), row.at("id").get<std::string>() + "_" + status);
    EXPECT_EQ(entry.at("error_occurred"), true);
    EXPECT_EQ(entry.at("error_message"), "why \"not\"");
    for (const char* field : {"real_time", "cpu_time", "time_unit", "iterations"})
      EXPECT_FALSE(entry.contains(field)) << field;
  }
}

TEST(GoogleBenchmark, TheContextNamesTheProgramAndMarksAreTold) {
  const json empty = json::parse(render_google_benchmark_json("assay-conv", json::array()));
  EXPECT_EQ(empty.at("benchmarks"), json::array());
  EXPECT_EQ(empty.at("context").at("executable"), "assay-conv");
  EXPECT_TRUE(empty.at("context").contains("assay_version"));
  json row = row_of(fixture::good_outcome());
  row["time_s"]["throttled"] = 1.0;
  EXPECT_TRUE(entries_of(json::array({row}))[0].at("label").get<std::string>().starts_with(
      "jit:avx2; ! Timed while other processes"));
}

}  // namespace test_google_benchmark
