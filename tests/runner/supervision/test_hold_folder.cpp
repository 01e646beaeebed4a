// One run at a time in a folder, and how long a resumed one waits for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.hpp"
#include "runner/supervision/process_table.hpp"
#include "runner/supervision/run_folder.hpp"

namespace assay {
namespace test_hold_folder {

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
  const LockFile held_at_first = [this](int descriptor, int operation) {
    const int taken = flock(descriptor, operation);
    const int fault = errno;
    flock(other_, LOCK_UN);
    errno = fault;
    return taken;
  };
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(hold_folder(folder_, seconds(600), held_at_first));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("another `assay run` is still running"),
            std::string::npos);
  EXPECT_THROW(hold_folder(folder_, seconds(0)), InputError) << "it is held now";
}

/// The behaviour of flock on a file system without locks.
int no_lock(int, int) {
  errno = ENOLCK;
  return -1;
}

/// The message of hold_folder, or "" if the folder is got.
std::string refusal(const fs::path& folder) {
  try {
    hold_folder(folder, seconds(0), no_lock);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST_F(HeldFolder, IsRefusedWithoutLocks) {
  EXPECT_EQ(refusal(folder_), "");
  const std::string said = refusal(folder_);
  EXPECT_NE(said.find("another `assay run` is running in " + folder_.string()), std::string::npos)
      << said;
  EXPECT_NE(said.find((folder_ / collecting::held_by_name).string() + " says \"process " +
                      std::to_string(::getpid()) + " on "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("remove it if that process runs no more"), std::string::npos) << said;
  fs::remove(folder_ / collecting::held_by_name);  // as it says
  EXPECT_EQ(refusal(folder_), "");
}

TEST_F(HeldFolder, IsFreeWithoutLocksOnceTheProcessHasEnded) {
  const auto holds_and_ends = [&] {
    hold_folder(folder_, seconds(0), no_lock);
    std::exit(fs::exists(folder_ / collecting::held_by_name) ? 0 : 1);
  };
  EXPECT_EXIT(holds_and_ends(), testing::ExitedWithCode(0), "");
  EXPECT_FALSE(fs::exists(folder_ / collecting::held_by_name));
}

/// `text` with `to` in place of the first `from`.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

TEST_F(HeldFolder, IsTakenOverWithoutLocksFromAKilledProcessOfThisHost) {
  const auto holds_and_is_killed = [&] {
    hold_folder(folder_, seconds(0), no_lock);
    raise(SIGKILL);
  };
  EXPECT_EXIT(holds_and_is_killed(), testing::KilledBySignal(SIGKILL), "");
  const fs::path file = folder_ / collecting::held_by_name;
  const std::string left = readable_text(file);
  const auto refused_by = [&](const std::string& holder) {
    std::ofstream(file) << holder;
    return refusal(folder_).find(file.string() + " says \"process ") != std::string::npos;
  };
  EXPECT_TRUE(refused_by(replaced(left, " on ", " on not-"))) << "another host";
  EXPECT_TRUE(refused_by(replaced(left, "boot ", "boot 0"))) << "may be another host of this name";
  EXPECT_TRUE(refused_by(replaced(left, " in ", " in another-"))) << "another container";
  EXPECT_TRUE(refused_by(left.substr(0, left.size() - 1))) << "it is being written";
  EXPECT_TRUE(refused_by(left.substr(0, left.find('\n') + 1))) << "of an older build";
  EXPECT_FALSE(refused_by(left));
  EXPECT_TRUE(readable_text(file).starts_with("process " + std::to_string(getpid())));
  EXPECT_NE(refusal(folder_), "") << "it is held now";
}

TEST_F(HeldFolder, IsTakenOverWithoutLocksWhereItsProcessNumberIsAnothers) {
  const fs::path file = folder_ / collecting::held_by_name;
  std::ofstream(file) << replaced(collecting::holder_here(), " start ", " start 1");
  // While another run takes it over, this one does not.
  std::ofstream(file.string() + ".next") << "";
  EXPECT_NE(refusal(folder_), "");
  fs::remove(file.string() + ".next");
  EXPECT_EQ(refusal(folder_), "");
  EXPECT_FALSE(fs::exists(file.string() + ".next"));
}

}  // namespace test_hold_folder
}  // namespace assay
