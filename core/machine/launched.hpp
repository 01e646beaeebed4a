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

}  // namespace assay
