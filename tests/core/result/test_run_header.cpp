// The head of a result: what is written is read again, and what is unknown is kept.

#include <gtest/gtest.h>

#include "core/result/run_header.hpp"

namespace assay {
namespace test_run_header {

using nlohmann::json;

RunHeader full_header() {
  RunHeader header;
  header.id = "smoke-1";
  header.suite = "smoke";
  header.command = "assay run smoke";
  header.seed = 7;
  header.started = "2026-11-27T10:00:00Z";
  header.statistics = 3;
  header.launches = 5;
  header.scale = "1/16";
  header.allocator = "jemalloc";
  header.settings = RunSettings{.suite_file = "/suites/smoke.json",
                                .suite_hash = "h",
                                .programs = "/bin",
                                .launcher = {"mpirun", "-n", "2"},
                                .shapes = {{{"ranks", 2}}},
                                .site = "here",
                                .system = "Testbed",
                                .filter = "conv",
                                .cases = {"a", "b"},
                                .baselines = {"summit"},
                                .ceilings = false,
                                .timeout = 60};
  header.timing.min_samples = 5;
  header.suite_timing.emplace().max_time = 2.5;
  header.suite_timing->min_samples = 7;
  header.suite_timing->rest = {{"timeout", 30}};
  header.case_hashes = {{"conv", "c"}};
  header.resumed = 1;
  header.left_out = {"b"};
  return header;
}

TEST(RunHeader, WhatIsWrittenIsRead) {
  const json written = full_header();
  EXPECT_EQ(json(written.get<RunHeader>()), written);
  EXPECT_EQ(written.at("min_samples"), 5);
  EXPECT_TRUE(written.at("max_time").is_null());
  EXPECT_EQ(written.at("suite_timing"),
            json({{"max_time", 2.5}, {"min_samples", 7}, {"timeout", 30}}));
  EXPECT_TRUE(written.get<RunHeader>().rest.empty());
}

TEST(RunHeader, GivenTimingCountsBeforeTheSuites) {
  const RunTiming timing = json(full_header()).get<RunHeader>().whole_timing();
  EXPECT_EQ(timing.min_samples, 5);
  EXPECT_EQ(timing.max_time, 2.5);
  EXPECT_FALSE(timing.burn);
}

TEST(RunHeader, OfAProgramAloneHasScaleAllocatorAndTheGivenTiming) {
  RunHeader header;
  header.timing.burn = 4;
  const json written = header;
  EXPECT_TRUE(written.at("scale").is_null());
  EXPECT_TRUE(written.at("allocator").is_null());
  EXPECT_EQ(written.at("burn"), 4);
  EXPECT_FALSE(written.contains("max_time"));
  EXPECT_EQ(json(written.get<RunHeader>()), written);
  EXPECT_TRUE(written.get<RunHeader>().rest.empty());
}

TEST(RunHeader, AFieldOfANewerVersionIsKept) {
  json written = full_header();
  written["weather"] = {{"sky", "grey"}};
  EXPECT_EQ(json(written.get<RunHeader>()), written);
}

TEST(RunHeader, APublishedRunHasNoCommand) {
  const json published = {{"id", "paper"},   {"suite", nullptr},   {"command", nullptr},
                          {"seed", nullptr}, {"started", nullptr}, {"finished", nullptr}};
  const auto header = published.get<RunHeader>();
  EXPECT_FALSE(header.command || header.seed || header.started || header.settings);
  for (const auto& [field, value] : published.items()) EXPECT_EQ(json(header).at(field), value);
}

TEST(RunHeader, ScaleAndAllocatorCountForAResume) {
  const json counting = list_counting_settings(full_header());
  EXPECT_EQ(counting.at("scale"), "1/16");
  EXPECT_EQ(counting.at("allocator"), "jemalloc");
  EXPECT_FALSE(counting.contains("filter")) << "fewer cases are part of the same run";
}

}  // namespace test_run_header
}  // namespace assay
