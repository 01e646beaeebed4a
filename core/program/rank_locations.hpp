#pragma once
// The locations of the ranks of a job: their hosts, and the parts of the host that they may use.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/api/communicator.hpp"

namespace assay {

/// Adds to this rank's environment the hosts and locations of all ranks, and the environments of
/// the other hosts; of these, hardware and software only if they differ from rank 0's. A binary
/// that hosts have loaded in several builds gets the identities of all of them, sorted: the
/// software hash then differs from that of any single build, whichever host has rank 0. Does
/// nothing for one rank. Collective.
void add_ranks(nlohmann::json& environment, Communicator& ranks);

/// The binaries that hosts of this environment have loaded in several builds, with the hosts: the
/// times of such a job belong to no build. "" if there are none.
std::string describe_mixed_binaries(const nlohmann::json& environment);

/// The locations of all ranks, in their order: {"rank", "host", "node", "sockets", "numa_nodes",
/// "cores"}; unknown values are null. Collective, equal on all ranks.
nlohmann::json rank_locations(Communicator& ranks);

/// Number of ranks on this rank's host, including this rank. Collective.
int ranks_here(Communicator& ranks);

}  // namespace assay
