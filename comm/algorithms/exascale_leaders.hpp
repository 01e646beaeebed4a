#pragma once
// Which four ranks of a node speak to the network.

#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// The socket that each rank of a node is bound to, -1 where it is not bound to one. Collective.
std::vector<int> sockets_of(Communicator& node);

/// Two ranks on each of two sockets, in the order of ranks. Where fewer than two sockets have two
/// ranks each (one socket, or ranks are not bound), the first two of each half of the ranks:
/// launchers fill one socket after the other.
std::vector<int> exascale_leaders(const std::vector<int>& sockets);

}  // namespace assay
