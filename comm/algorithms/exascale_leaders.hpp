#pragma once
// The four ranks of a node that communicate with other nodes in exascale_hybrid (T. Kurth et al.,
// Exascale Deep Learning for Climate Analytics, SC18, arXiv:1810.01993).

#include <vector>

#include "core/api/communicator.hpp"

namespace assay {

/// The socket to which each rank of a node is bound; -1 for a rank that is not bound to one.
/// Collective.
std::vector<int> find_sockets(Communicator& node);

/// Two ranks on each of two sockets, in the order of ranks. Without two sockets of two ranks each
/// (one socket, or unbound ranks), they are the first two ranks of each half: launchers fill one
/// socket after the other.
std::vector<int> exascale_leaders(const std::vector<int>& sockets);

}  // namespace assay
