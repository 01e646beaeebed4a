#include "analysis/run/rank_ends.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "core/rank_file.hpp"
#include "tests/core/result_fixture.hpp"

namespace assay {
namespace {

/// Ranks of a job, which are processes that do nothing, and die when they are told to.
class RankEndsTest : public testing::Test {
 protected:
  ~RankEndsTest() override {
    while (!ranks_.empty()) killed(ranks_.begin()->first);
  }
  /// Returns when it has its file.
  void begun(int rank, int attempt = 1) {
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      const RankFile alive(folder_.path() / rank_file_name("gemm", 0, attempt, rank));
      if (write(said[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    ranks_[{attempt, rank}] = process;
    char byte = 0;
    EXPECT_EQ(read(said[0], &byte, 1), 1);
    close(said[0]);
    close(said[1]);
  }
  void killed(std::pair<int, int> which) {
    const pid_t process = ranks_.at(which);
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    ranks_.erase(which);
  }
  void killed(int rank) { killed({1, rank}); }
  /// As the journal tells it of three ranks.
  static std::string first(RankEnds& ends) { return ends.first({"70", "71", "72"}, hosts_); }

  inline static const std::vector<std::string> hosts_{"a", "a", "a"};
  const fixture::Folder folder_;
  const std::filesystem::path journal_ = folder_.path() / "journal.jsonl";
  const Process job_{"gemm", 0, 1};
  std::map<std::pair<int, int>, pid_t> ranks_;  ///< by attempt and rank
};

TEST_F(RankEndsTest, TheFirstIsNamedHoweverLateItIsAskedFor) {
  RankEnds ends(journal_, job_);
  for (const int rank : {2, 0, 1}) begun(rank);
  EXPECT_EQ(first(ends), "");
  for (const int rank : {1, 0, 2}) killed(rank);
  EXPECT_EQ(first(ends), "rank 1 (process 71 on a) ended first");
  EXPECT_EQ(first(ends), "rank 1 (process 71 on a) ended first");
}

TEST_F(RankEndsTest, NothingIsKnownWhereARankWasNotSeenToBegin) {
  RankEnds ends(journal_, job_);
  begun(0);
  begun(2);
  killed(2);
  EXPECT_EQ(first(ends), "") << "rank 1 may be on another host, and dead for long";
  begun(1);
  EXPECT_EQ(first(ends), "rank 2 (process 72 on a) ended first");
}

TEST_F(RankEndsTest, NothingIsKnownOfRanksThatBeganBeforeTheWatch) {
  begun(0);
  RankEnds ends(journal_, job_);
  begun(1);
  begun(2);
  killed(2);
  EXPECT_EQ(first(ends), "");
}

TEST_F(RankEndsTest, RanksOfAnotherAttemptAreNotMistaken) {
  RankEnds ends(journal_, job_);
  for (const int rank : {0, 1, 2}) begun(rank, 0);
  for (const int rank : {0, 1, 2}) begun(rank, 11);
  killed({0, 1});
  killed({11, 1});
  EXPECT_EQ(first(ends), "");
  for (const int rank : {0, 1, 2}) begun(rank);
  killed({0, 2});
  killed(0);
  EXPECT_EQ(first(ends), "rank 0 (process 70 on a) ended first");
}

TEST_F(RankEndsTest, AProcessThatIsAloneIsNotNamed) {
  RankEnds ends(journal_, job_);
  begun(0);
  killed(0);
  EXPECT_EQ(ends.first({"70"}, {"a"}), "");
  EXPECT_EQ(ends.first({}, hosts_), "") << "the job has not told its ranks";
}

TEST_F(RankEndsTest, TheFilesOfTheDeadAreRemoved) {
  const auto left = [&] { return !std::filesystem::is_empty(folder_.path()); };
  {
    RankEnds ends(journal_, job_);
    begun(0);
    begun(1);
    killed(1);
    killed(0);
    EXPECT_TRUE(left());
  }
  EXPECT_FALSE(left());
}

TEST_F(RankEndsTest, WhereTheKernelGivesNoNoticesNothingIsSaid) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  RankEnds ends(journal_, job_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  for (const int rank : {0, 1, 2}) begun(rank);
  killed(1);
  EXPECT_EQ(first(ends), "");
}

}  // namespace
}  // namespace assay
