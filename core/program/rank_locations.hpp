#pragma once
// Where the ranks of a job run: hosts, and what each rank may use of its host.

#include <nlohmann/json_fwd.hpp>

#include "core/api/communicator.hpp"

namespace assay {

/// Adds to this rank's environment the host and the location of every rank, and of the first rank
/// of each other host its state, hashes and, where they are others than rank 0's, hardware and
/// software. Nothing for one rank. Collective.
void add_ranks(nlohmann::json& environment, Communicator& ranks);

/// Collective, the same on every rank, in the order of the ranks: {"rank", "host", "node",
/// "sockets", "numa_nodes", "cores"}; unknown is null.
nlohmann::json rank_locations(Communicator& ranks);

/// Ranks on this rank's host, itself included. Collective.
int ranks_here(Communicator& ranks);

}  // namespace assay
