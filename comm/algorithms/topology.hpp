#pragma once
// The ranks of each node.

#include <vector>

#include "comm/algorithms/parts.hpp"

namespace assay {

struct Topology {
  std::vector<Group> nodes;  ///< the ranks of each node, in order; `me` is set for this node
  int node = 0;              ///< the node of this rank
  bool equal = true;         ///< all nodes have the same number of ranks

  const Group& mine() const { return nodes[static_cast<std::size_t>(node)]; }
  /// The ranks with this rank's index on their nodes. Requires `equal`.
  Group across() const;
  /// The first rank of each node; `me` is the index of this node.
  Group leaders() const;
};

/// Collective.
Topology gather_topology(Communicator& ranks);

}  // namespace assay
