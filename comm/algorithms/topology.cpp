#include "comm/algorithms/topology.hpp"

#include <vector>

#include "core/measure/agreement.hpp"

namespace assay {

Group Topology::across() const {
  Group group;
  for (const Group& node_ranks : nodes)
    group.ranks.push_back(node_ranks.ranks.at(static_cast<std::size_t>(mine().me)));
  group.me = node;
  return group;
}

Group Topology::leaders() const {
  Group group;
  for (const Group& node_ranks : nodes) group.ranks.push_back(node_ranks.ranks.front());
  group.me = node;
  return group;
}

Topology gather_topology(Communicator& ranks) {
  Topology topology;
  topology.nodes.resize(static_cast<std::size_t>(ranks.nodes()));
  const std::vector<double> nodes = allgather_numbers(ranks.node(), ranks);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    Group& group =
        topology.nodes.at(static_cast<std::size_t>(nodes[static_cast<std::size_t>(rank)]));
    if (rank == ranks.rank()) group.me = group.size();
    group.ranks.push_back(rank);
  }
  topology.node = ranks.node();
  for (const Group& node_ranks : topology.nodes)
    topology.equal = topology.equal && node_ranks.size() == topology.nodes.front().size();
  return topology;
}

}  // namespace assay
