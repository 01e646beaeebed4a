#include "core/machine/launched.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace assay {
namespace test_launched {

class LaunchedTest : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
                             "PMIX_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                             "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
      unsetenv(name);
  }
};

TEST_F(LaunchedTest, WithoutALauncherThereIsOneProcess) {
  EXPECT_EQ(read_launch_info().size, 1);
  EXPECT_EQ(read_launch_info().rank, 0);
  EXPECT_EQ(read_launch_info().by, "");
}

TEST_F(LaunchedTest, VariablesOfALaunchersFileAreUnderstoodAndForgotten) {
  setenv("JSM_NAMESPACE_RANK", "2", 1);  // of scripts/launchers/lsf.json
  setenv("JSM_NAMESPACE_SIZE", "4", 1);
  setenv("JSM_NAMESPACE_LOCAL_RANK", "1", 1);
  EXPECT_EQ(read_launch_info().rank, 2);
  EXPECT_EQ(read_launch_info().size, 4);
  EXPECT_EQ(read_launch_info().local_rank, 1);
  EXPECT_EQ(read_launch_info().by, "lsf");
  setenv("SLURM_PROCID", "1", 1);
  setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
  setenv("PMI_RANK", "3", 1);
  setenv("OMPI_MCA_btl", "tcp,self", 1);  // a user's own
  forget_launcher();
  EXPECT_EQ(read_launch_info().size, 1);
  EXPECT_EQ(std::getenv("SLURM_JOB_NODELIST"), nullptr) << "mpirun would start ranks elsewhere";
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl"), "tcp,self");
  unsetenv("OMPI_MCA_btl");
}

TEST_F(LaunchedTest, EachLaunchersVariablesAreUnderstood) {
  setenv("SLURM_PROCID", "1", 1);
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_EQ(read_launch_info().size, 2);
  EXPECT_EQ(read_launch_info().by, "srun without MPI");
  setenv("PMIX_RANK", "1", 1);
  EXPECT_EQ(read_launch_info().by, "srun with PMIx");
  setenv("PMI_RANK", "3", 1);
  setenv("PMI_SIZE", "5", 1);
  EXPECT_EQ(read_launch_info().rank, 3);
  EXPECT_EQ(read_launch_info().size, 5);
  setenv("OMPI_COMM_WORLD_RANK", "6", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "7", 1);
  EXPECT_EQ(read_launch_info().rank, 6);
  EXPECT_EQ(read_launch_info().by, "mpirun of Open MPI");
}

TEST_F(LaunchedTest, TheLocalRankIsWhatTheInnermostLauncherTells) {
  setenv("SLURM_PROCID", "5", 1);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  EXPECT_FALSE(read_launch_info().local_rank);
  setenv("SLURM_LOCALID", "1", 1);
  EXPECT_EQ(read_launch_info().local_rank, 1);
  setenv("MPI_LOCALRANKID", "2", 1);
  EXPECT_EQ(read_launch_info().local_rank, 2);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  EXPECT_EQ(read_launch_info().local_rank, 3);
}

TEST_F(LaunchedTest, WhatIsNoNumberIsNoLauncher) {
  setenv("PMI_RANK", "x", 1);
  setenv("PMI_SIZE", "5", 1);
  EXPECT_EQ(read_launch_info().size, 1);
  setenv("PMI_RANK", "5", 1);  // no rank among 5
  EXPECT_EQ(read_launch_info().size, 1);
}

}  // namespace test_launched
}  // namespace assay
