// Runs as processes of their own: an end that does not come, and what a node's folder must hold.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/run/many_runs.hpp"
#include "assay/test_paths.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class ManyRuns : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::temp_directory_path() / ("assay-many-" + std::to_string(::getpid()));
};

TEST_F(ManyRuns, ACommandThatHangsIsKilledAtItsLimit) {
  try {
    wait_for_end({"sleep", "1000"}, folder_, "hangs", std::chrono::seconds(0));
    FAIL() << "it was waited for";
  } catch (const CaseError& error) {
    EXPECT_NE(std::string(error.what()).find("`sleep 1000` has not ended within 0 s"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(wait_for_end({"false"}, folder_, "ends", std::chrono::hours(1)).code, 1);
}

TEST_F(ManyRuns, ANodeThatDoesNotSayItsEndHasNoResult) {
  const fs::path node = folder_ / "n1";
  fs::create_directories(node);
  EXPECT_TRUE(left_node(node, {}).result.is_null());
  fs::copy_file(fs::path(ASSAY_SOURCE_DIR) / "tests/golden/results/statistics_1.json",
                node / "result.json");
  const LeftRun without = left_node(node, {}, "/disk/n1");
  EXPECT_TRUE(without.result.is_null());
  EXPECT_NE(without.missing.find("/disk/n1"), std::string::npos) << without.missing;
  std::ofstream(node / "end.txt") << "ended with exit code 0\n";
  EXPECT_FALSE(left_node(node, {}).result.is_null());
}

}  // namespace
}  // namespace assay
