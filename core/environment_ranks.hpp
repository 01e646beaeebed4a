#pragma once
// The machines of all ranks in a result's environment.

#include <nlohmann/json_fwd.hpp>

#include "core/communicator.hpp"

namespace assay {

/// Adds to this rank's environment the host and the place of every rank, and of the first rank of
/// each other host its state, hashes and, where they are others than rank 0's, hardware and
/// software. Nothing for one rank. Collective.
void add_ranks(nlohmann::json& environment, Communicator& ranks);

/// Ranks on this rank's host, itself included. Collective.
int ranks_here(Communicator& ranks);

}  // namespace assay
