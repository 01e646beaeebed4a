#pragma once
// Where the ranks of a job are: which host, which sockets, NUMA nodes and cores each may run on.
// Two ranks on one core, or all on one socket, explain a slow collective better than any network.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/communicator.hpp"

namespace assay {

/// hwloc's logical numbers of what this process is allowed to run on. Empty where hwloc knows
/// nothing of the machine.
struct Place {
  std::vector<int> sockets, numa_nodes, cores;
};
Place place_of_process();

/// Collective, the same on every rank, in the order of the ranks: {"rank", "host", "node",
/// "sockets", "numa_nodes", "cores"}; unknown is null.
nlohmann::json places_of(Communicator& ranks);

}  // namespace assay
