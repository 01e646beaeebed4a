#pragma once
// Which ranks share a node.

#include <vector>

#include "comm/algorithms/parts.hpp"

namespace assay {

struct Topology {
  std::vector<Group> nodes;  ///< the ranks of each node, in order; `me` is set in my own
  int node = 0;              ///< mine
  bool equal = true;         ///< all nodes have as many ranks

  const Group& mine() const { return nodes[static_cast<std::size_t>(node)]; }
  /// The ranks of my place on each node; only where all nodes are equal.
  Group across() const;
  /// The first rank of each node; `me` is my node's.
  Group leaders() const;
};

/// Collective.
Topology topology_of(Communicator& ranks);

}  // namespace assay
