#include "core/base/temporary.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.hpp"
#include "core/base/limits.hpp"
#include "core/base/signal_note.hpp"

namespace assay {
namespace test_temporary {

namespace fs = std::filesystem;

fs::path name(const std::string& of) {
  return fs::temp_directory_path() / ("assay-temporary-" + std::to_string(getpid()) + of);
}

void fill(const fs::path& folder) {
  for (const char* inner : {"a", "b"}) {
    fs::create_directories(folder / inner);
    for (int i = 0; i < 200; ++i) std::ofstream(folder / inner / std::to_string(i)) << i;
  }
  fs::create_symlink(fs::temp_directory_path(), folder / "link");
}

TEST(Temporary, GoesUnlessItIsKept) {
  const fs::path folder = name("-folder"), kept = name("-kept");
  {
    const Temporary first(folder), second(name("-never-made"));
    Temporary third(kept);
    fill(folder);
    std::ofstream(kept) << "x";
    third.keep();
  }
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::remove(kept));
}

/// The end of a child process that has a temporary folder and raises a signal.
int status_after(int number, bool noted, const fs::path& folder) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const Temporary gone(name("-gone")), held(folder);
    if (noted) new SignalNote("");
    fill(folder);
    raise(number);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Temporary, GoesWithASignalThatEndsTheProcess) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGUSR2})
    for (const bool noted : {false, true}) {
      const fs::path folder = name("-signal");
      const int status = status_after(number, noted, folder);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << number;
      EXPECT_FALSE(fs::exists(folder)) << number;
      fs::remove_all(folder);
    }
}

TEST(Temporary, StaysIfAForkedProcessEnds) {
  const Temporary folder(name("-parent"));
  fill(folder.path());
  const pid_t child = fork();
  if (child == 0) raise(SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(folder.path() / "a" / "0"));
}

TEST(Limits, AreNamed) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{123456, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string said = words_of_error(EFBIG);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(said.find("`ulimit -f` allows 123456 bytes"), std::string::npos) << said;
  EXPECT_NE(words_of_error(EMFILE).find("`ulimit -n` allows"), std::string::npos);
  EXPECT_EQ(words_of_error(ENOENT).find("ulimit"), std::string::npos);
}

TEST(Limits, TheFolderForTemporaryFilesIsNamed) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/no/such", 1);
  std::string said;
  try {
    temporary_folder();
  } catch (const CaseError& error) {
    said = error.what();
  }
  setenv("TMPDIR", "", 1);
  EXPECT_EQ(temporary_folder(), "/tmp");
  unsetenv("TMPDIR");
  EXPECT_EQ(temporary_folder(), "/tmp");
  if (before != nullptr) setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_NE(said.find("TMPDIR, /no/such (No such file"), std::string::npos) << said;
}

}  // namespace test_temporary
}  // namespace assay
