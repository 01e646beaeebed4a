// The files that the name of a folder stands for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/load.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_load {

namespace fs = std::filesystem;

class Load : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& text) {
    const fs::path file = folder_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  /// The files of a run that was stopped after its ceilings were measured.
  void write_stopped(const std::string& name) {
    write(name + "/journal.jsonl", "");
    write(name + "/ceilings.json", R"({"schema": "assay-suite/1"})");
    write(name + "/log/ceilings.json", result_);
  }
  fs::path folder_ = fs::temp_directory_path() / ("assay-load-" + std::to_string(::getpid()));
  const std::string result_ = R"({"schema": "assay-result/1", "rows": []})";
};

TEST_F(Load, CeilingsOfAStoppedRunAreNoResult) {
  write_stopped("stopped");
  try {
    list_result_files({(folder_ / "stopped").string()});
    FAIL() << "the log of a run was read as its result";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--resume"), std::string::npos) << error.what();
  }
}

TEST_F(Load, AFolderOfRunsHasTheResultsOfThoseThatEnded) {
  write_stopped("stopped");
  write_stopped("ended");
  const fs::path ended = write("ended/result.json", result_), alone = write("alone.json", result_);
  write("suite.json", R"({"schema": "assay-suite/1"})");
  std::vector<std::string> found;
  for (const fs::path& file : list_result_files({folder_.string()})) found.push_back(file.string());
  EXPECT_EQ(found, (std::vector<std::string>{alone.string(), ended.string()}));
}

TEST(LoadResults, LeavesTheSamplesInTheFile) {
  const std::vector<NamedResult> results = load_results({"tests/golden/results/statistics_1.json"});
  ASSERT_FALSE(results.at(0).rows().empty());
  for (const Row& row : results[0].rows()) {
    EXPECT_TRUE(row.samples_s.empty());
    EXPECT_TRUE(row.time_s);
  }
}

}  // namespace test_load
}  // namespace assay
