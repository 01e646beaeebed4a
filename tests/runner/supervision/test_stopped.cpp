#include "runner/supervision/process_table.hpp"

#include "runner/supervision/child.hpp"
#include "tests/core/result_fixture.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace assay {
namespace test_stopped {

TEST(StoppedProcess, NamesTheRankThatDoesNotRun) {
  EXPECT_TRUE(find_stopped_here().empty());
  // A process below a process below us, as a rank is below its launcher. /proc shows the variables
  // that a program was started with, so it must be a program.
  const char* const word = "/tmp/assay-test-stopped/journal.jsonl";
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    const pid_t rank = fork();
    if (rank == 0) {
      const char* const variables[] = {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", nullptr};
      execle("/bin/sh", "sh", "-c", "kill -STOP $$", word, nullptr, variables);
      _exit(127);
    }
    int status = 0;
    waitpid(rank, &status, WUNTRACED);
    kill(getpid(), SIGSTOP);  // tells the test that the rank is stopped
    kill(rank, SIGKILL);
    waitpid(rank, nullptr, 0);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(launcher, &status, WUNTRACED), launcher);
  ASSERT_TRUE(WIFSTOPPED(status));
  const std::vector<StoppedProcess> found = find_stopped_here(), same = find_stopped_here(word);
  const std::string said = to_text(found, {}), elsewhere = to_text(found, {"a", "b", "c", "d"});
  kill(launcher, SIGCONT);
  waitpid(launcher, nullptr, 0);
  EXPECT_NE(said.find("rank 3 (process "), std::string::npos) << said;
  EXPECT_NE(said.find("(process " + std::to_string(launcher) + " on "), std::string::npos) << said;
  ASSERT_EQ(same.size(), 1u) << "the launcher has no such word";
  EXPECT_EQ(same[0].rank, "3");
  EXPECT_NE(elsewhere.find(" on d) is stopped"), std::string::npos) << elsewhere;
  EXPECT_TRUE(find_stopped_here().empty());
}

/// A launcher that says what hosts would.
std::string anywhere(const std::string& script, const std::vector<std::string>& rank_hosts,
                     std::string& unknown) {
  const fixture::Folder folder;
  return to_text(find_stopped_anywhere({"/bin/sh", "-c", script + " # $0 $1 $2"}, "assay", "word",
                                       folder.path() / "scratch", rank_hosts, unknown),
                 rank_hosts);
}

TEST(StoppedProcess, IsFoundOnAnotherHostByTheLauncherOfTheJob) {
  const std::vector<std::string> ranks{"a", "a", "b", "b", "c"};
  std::string unknown;
  EXPECT_EQ(anywhere("echo a asked; for i in 1 2; do echo b asked; echo b stopped 77 3; done; "
                     "echo c asked",
                     ranks, unknown),
            "rank 3 (process 77 on b) is stopped");
  EXPECT_EQ(unknown, "");
  EXPECT_EQ(anywhere("echo b asked; echo nonsense stopped; echo; exit 3", ranks, unknown), "");
  EXPECT_EQ(
      unknown,
      "whether rank 0, 1 on a is stopped is unknown (no answer); whether rank 4 on c is stopped "
      "is unknown (no answer)");
}

TEST(StoppedProcess, SrunIsToldNotToWaitForTheJobThatItAsksAfter) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(asking({"mpirun", "-n", "2"}, "/b/assay", "w"),
            (Words{"mpirun", "-n", "2", "/b/assay", "stopped", "w"}));
  EXPECT_EQ(
      asking({"/usr/bin/srun", "--mpi=pmix", "-n", "2"}, "/b/assay", "w"),
      (Words{"/usr/bin/srun", "--overlap", "--mpi=pmix", "-n", "2", "/b/assay", "stopped", "w"}));
  EXPECT_EQ(asking({"env", "A=1", "srun"}, "/b/assay", "w"),
            (Words{"env", "A=1", "srun", "--overlap", "/b/assay", "stopped", "w"}));
  EXPECT_EQ(asking({}, "/b/assay", "w"), (Words{"/b/assay", "stopped", "w"}));
}

TEST(StoppedProcess, ALauncherThatDoesNotAnswerIsGivenUpAndNothingElseEnds) {
  prepare_parent();
  const fixture::Folder folder;
  Child other({"sleep", "100"}, folder.path() / "out", folder.path() / "err");
  std::string unknown;
  EXPECT_EQ(anywhere("sleep 1000", {"a"}, unknown), "");
  EXPECT_EQ(unknown, "whether rank 0 on a is stopped is unknown (no answer)");
  EXPECT_FALSE(other.poll().has_value());
}

}  // namespace test_stopped
}  // namespace assay
