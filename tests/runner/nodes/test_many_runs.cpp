// Runs as processes of their own: an end that does not come, and what a node's folder must hold.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "assay/test_paths.hpp"
#include "core/base/error.hpp"
#include "core/result/result.hpp"
#include "runner/nodes/many_runs.hpp"

namespace assay {
namespace test_many_runs {

namespace fs = std::filesystem;

class ManyRuns : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::temp_directory_path() / ("assay-many-" + std::to_string(::getpid()));
};

TEST_F(ManyRuns, ACommandThatHangsIsKilledAtItsLimit) {
  try {
    run_logged({"sleep", "1000"}, folder_, "hangs", std::chrono::seconds(0));
    FAIL() << "it was waited for";
  } catch (const CaseError& error) {
    EXPECT_NE(std::string(error.what()).find("`sleep 1000` has not ended within 0 s"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(run_logged({"false"}, folder_, "ends", std::chrono::hours(1)).code, 1);
}

TEST_F(ManyRuns, ANodeThatDoesNotSayItsEndHasNoResult) {
  const fs::path node = folder_ / "n1";
  fs::create_directories(node);
  EXPECT_FALSE(read_node_remains(node, {}).result);
  fs::copy_file(fs::path(ASSAY_SOURCE_DIR) / "tests/golden/results/statistics_1.json",
                node / "result.json");
  const RunRemains without = read_node_remains(node, {}, "/disk/n1");
  EXPECT_FALSE(without.result);
  EXPECT_NE(without.missing.find("/disk/n1"), std::string::npos) << without.missing;
  std::ofstream(node / "end.txt") << "ended with exit code 0\n";
  EXPECT_TRUE(read_node_remains(node, {}).result);
}

TEST_F(ManyRuns, ARunSaysItsExitCode) {
  fs::create_directories(folder_);
  EXPECT_EQ(read_end_code(folder_), std::nullopt);
  write_end(folder_, describe_end(6));
  EXPECT_EQ(read_end_code(folder_), ExitCode::incomparable);
  write_end(folder_, "cannot be begun");
  EXPECT_EQ(read_end_code(folder_), std::nullopt);
  EXPECT_EQ(prepare_folder_of_run(folder_), WriteTime());
  EXPECT_FALSE(fs::exists(folder_ / "end.txt"));
}

RunRemains run_of(const std::string& name, ExitCode code) {
  const fs::path file = fs::path(ASSAY_SOURCE_DIR) / "tests/golden/results/statistics_1.json";
  return {name, read_result(file), "", code};
}

TEST_F(ManyRuns, WhatSeveralRunsLeftOutIsListedOnce) {
  std::vector<RunRemains> runs;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5"}) {
    runs.push_back(run_of(name, ExitCode::incomparable));
    runs.back().result->run.left_out = {"conv/late"};
  }
  runs[4].result->run.left_out.clear();
  runs.push_back(run_of("quiet", ExitCode::ok));
  runs.push_back({"gone", {}, "nothing was heard of it", ExitCode::ok});
  EXPECT_EQ(make_report(runs),
            "MISSING: gone (nothing was heard of it)\n"
            "n5: ended with exit code 6 (its output says why)\n"
            "n1, n2, n3 and 1 more: left out: conv/late (--walltime; --resume runs it)\n");
  EXPECT_EQ(find_exit_code(runs), ExitCode::failed);
  runs.pop_back();
  EXPECT_EQ(find_exit_code(runs), ExitCode::incomparable);
}

TEST_F(ManyRuns, ANodeBelowItsSitesCeilingIsNamed) {
  const Site site{.name = "mine", .ceilings = SiteCeilings{.memory_bytes_per_s = 1e12}};
  RunRemains slow = run_of("n1", ExitCode::slower);
  slow.result->run.brackets = nlohmann::json::parse(R"([{"reason": null, "rows": [{"status": "ok",
      "id": "stream", "benchmark": "stream", "setup_s": {}, "rates": {},
      "parameters": {"precision": "fp64"}, "problem": {"descriptor": "triad_n64", "bytes": 1e9},
      "time_s": {"min": 0.1, "median": 0.1}}]}])");
  const std::string text = make_report({slow}, site);
  EXPECT_NE(text.find("n1: site mine: memory: "), std::string::npos) << text;
  EXPECT_NE(text.find("below the tolerance of the site"), std::string::npos) << text;
}

}  // namespace test_many_runs
}  // namespace assay
