#pragma once
// Rank and number of ranks of this process, as its launcher (mpirun, mpiexec, srun) has set them in
// environment variables. They are known before any library connects the processes.

#include <optional>
#include <string>

namespace assay {

struct LaunchInfo {
  int rank = 0, size = 1;
  std::optional<int> local_rank{};  ///< index of this rank among those of its host
  std::string by;                   ///< the launcher: "mpirun of Open MPI"; empty: none
};

/// Reads the environment variables of launchers.
LaunchInfo read_launch_info();
/// Removes all variables of launchers and batch systems from the environment. Processes that this
/// process starts then run without a launcher, and an mpirun among them stays on this host. Call it
/// before the first call of read_launch_info().
void forget_launcher();

}  // namespace assay
