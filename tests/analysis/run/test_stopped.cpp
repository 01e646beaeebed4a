#include "analysis/run/stopped.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace assay {
namespace {

TEST(Stopped, NamesTheRankThatDoesNotRun) {
  EXPECT_EQ(stopped_processes(), "");
  // A process below a process below us, as a rank is below its launcher. /proc shows the variables
  // that a program was started with, so it must be a program.
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    const pid_t rank = fork();
    if (rank == 0) {
      const char* const variables[] = {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", nullptr};
      execle("/bin/sh", "sh", "-c", "kill -STOP $$", nullptr, variables);
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
  const std::string said = stopped_processes();
  kill(launcher, SIGCONT);
  waitpid(launcher, nullptr, 0);
  EXPECT_NE(said.find("rank 3 (process "), std::string::npos) << said;
  EXPECT_NE(said.find("(process " + std::to_string(launcher) + " on "), std::string::npos) << said;
  EXPECT_EQ(stopped_processes(), "");
}

}  // namespace
}  // namespace assay
