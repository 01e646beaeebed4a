#include "core/rank_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <string>
#include <vector>

#include "tests/core/result_fixture.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The files of a folder in the order in which they are closed.
class Closings {
 public:
  explicit Closings(const fs::path& folder) : notices_(inotify_init1(IN_NONBLOCK)) {
    inotify_add_watch(notices_, folder.c_str(), IN_CLOSE_WRITE);
  }
  ~Closings() { close(notices_); }
  std::string next() {
    alignas(inotify_event) char buffer[sizeof(inotify_event) + NAME_MAX + 1];
    const auto* notice = reinterpret_cast<const inotify_event*>(buffer);
    if (at_ == names_.size())
      for (ssize_t size; (size = read(notices_, buffer, sizeof buffer)) > 0;)
        for (const char* p = buffer; p < buffer + size; p += sizeof *notice + notice->len) {
          notice = reinterpret_cast<const inotify_event*>(p);
          names_.emplace_back(notice->name);
        }
    return at_ < names_.size() ? names_[at_++] : "";
  }

 private:
  int notices_;
  std::size_t at_ = 0;
  std::vector<std::string> names_;
};

TEST(RankFile, IsThereAsLongAsTheRank) {
  const fixture::Folder folder;
  const fs::path file = folder.path() / rank_file_name("gemm", 2, 1, 3);
  EXPECT_EQ(file.filename(), "rank-2-1-gemm-3");
  Closings closings(folder.path());
  {
    const RankFile alive(file);
    EXPECT_TRUE(fs::exists(file));
    EXPECT_EQ(closings.next(), "");
  }
  EXPECT_EQ(closings.next(), file.filename());
  EXPECT_FALSE(fs::exists(file));
}

TEST(RankFile, IsDoneWithoutWhereThereCanBeNone) {
  const fixture::Folder folder;
  const RankFile none(folder.path() / "missing" / "rank-0");
  EXPECT_FALSE(fs::exists(folder.path() / "missing"));
}

// Or others, who have seen its sockets closed, could be dead before it is.
TEST(RankFile, OfADeadRankIsClosedBeforeAllElse) {
  const fixture::Folder folder;
  Closings closings(folder.path());
  const auto opened = [&](const char* name) {
    return open((folder.path() / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  };
  const pid_t rank = fork();
  ASSERT_GE(rank, 0);
  if (rank == 0) {
    if (opened("before") < 0) _exit(1);
    const RankFile alive(folder.path() / "rank");
    if (opened("after") < 0) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(rank, &status, 0), rank);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(closings.next(), "rank");
  EXPECT_NE(closings.next(), "");
  EXPECT_NE(closings.next(), "");
  EXPECT_EQ(closings.next(), "");
}

// What a rank has started (a tool that it asks) may live longer.
TEST(RankFile, IsNotKeptOpenByAProgramThatTheRankHasStarted) {
  const fixture::Folder folder;
  Closings closings(folder.path());
  int to_test[2];
  ASSERT_EQ(pipe(to_test), 0);
  const pid_t rank = fork();
  ASSERT_GE(rank, 0);
  if (rank == 0) {
    const RankFile alive(folder.path() / "rank");
    const pid_t tool = fork();
    // The shell writes, so it is no copy of the rank any more.
    if (tool == 0)
      execl("/bin/sh", "sh", "-c",
            ("echo $$ >&" + std::to_string(to_test[1]) + "; exec sleep 100").c_str(), nullptr);
    pause();
  }
  char number[32] = "";
  ASSERT_GT(read(to_test[0], number, sizeof number - 1), 0);
  close(to_test[0]);
  close(to_test[1]);
  const pid_t tool = std::stoi(number);
  kill(rank, SIGKILL);
  waitpid(rank, nullptr, 0);
  EXPECT_EQ(kill(tool, 0), 0);
  EXPECT_EQ(closings.next(), "rank");
  kill(tool, SIGKILL);
}

}  // namespace
}  // namespace assay
