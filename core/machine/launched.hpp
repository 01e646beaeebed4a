#pragma once
// What a launcher (mpirun, mpiexec, srun) has told this process of its place, before any library
// has spoken with the other processes.

#include <optional>
#include <string>

namespace assay {

struct Launched {
  int rank = 0, size = 1;
  std::optional<int> local_rank{};  ///< among the ranks of this host
  std::string by;                   ///< "mpirun of Open MPI"; empty: started without a launcher
};

/// From the launcher's environment variables.
Launched launched();
/// Removes them all from the environment, with those of batch systems: what this process starts
/// from now on is started without a launcher, and an mpirun in it stays on this host. Before the
/// first call of launched().
void forget_launcher();

}  // namespace assay
