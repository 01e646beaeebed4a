// One run at a time in a folder, and how long a resumed one waits for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "analysis/run/run.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

/// A folder that somebody holds.
class HeldFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    other_ = open((folder_ / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    ASSERT_GE(other_, 0);
    ASSERT_EQ(flock(other_, LOCK_EX | LOCK_NB), 0);
  }
  void TearDown() override {
    close(other_);
    fs::remove_all(folder_);
  }

  fs::path folder_ =
      fs::temp_directory_path() / ("assay-hold-folder-" + std::to_string(::getpid()));
  int other_ = -1;
};

TEST_F(HeldFolder, IsRefusedAtOnceWithoutPatience) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(hold_folder(folder_, seconds(0)), InputError);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(HeldFolder, IsRefusedOnceThePatienceIsOver) {
  testing::internal::CaptureStderr();
  EXPECT_THROW(hold_folder(folder_, seconds(1)), InputError);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("waiting up to 1 s"), std::string::npos);
}

TEST_F(HeldFolder, IsGotWhenTheOtherLeaves) {
  std::jthread other([&] {
    std::this_thread::sleep_for(seconds(1));
    flock(other_, LOCK_UN);
  });
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(hold_folder(folder_, seconds(600)));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("another `assay run` is still running"),
            std::string::npos);
  EXPECT_THROW(hold_folder(folder_, seconds(0)), InputError) << "it is held now";
}

}  // namespace
}  // namespace assay
