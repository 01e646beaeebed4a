// hierarchical: the slow links between nodes carry 1/(ranks of a node) of the data for each rank.
// Reduce-scatter within the node, allreduce of each piece among the nodes, allgather within the
// node. Elements that a node's ranks do not divide (all elements if nodes have different numbers of
// ranks) take another way: reduce to one rank of each node, allreduce among those ranks, broadcast.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/scheduled.hpp"
#include "comm/algorithms/topology.hpp"

namespace assay {

namespace {

void write(const Topology& topology, const Call& call, ScheduleBuilder& builder) {
  const Group& inside = topology.mine();
  const bool average = call.op == ReduceOp::average;
  const std::int64_t count = call.send.count;
  const std::int64_t even = topology.equal ? count - count % inside.size() : 0;
  if (even > 0) {
    const Part from = builder.whole_send().part(0, even);
    const Part into = builder.whole_receive().part(0, even);
    const Part own = piece(into, inside.size(), inside.me);
    ring_reduce_scatter(builder, inside, from, into);
    halving_doubling(builder, topology.across(), own, own, average);
    ring_allgather(builder, inside, own, into);
  }
  const Part from = builder.whole_send().part(even, count - even);
  const Part into = builder.whole_receive().part(even, count - even);
  tree_reduce(builder, inside, 0, from, into);
  if (inside.me == 0) halving_doubling(builder, topology.leaders(), into, into, average);
  tree_broadcast(builder, inside, 0, into);
}

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("hierarchical", options); !reason.empty())
    return Unsupported{std::move(reason)};
  return make_scheduled(transport, {"hierarchical",
                                    {Collective::allreduce},
                                    [topology = gather_topology(transport)](
                                        const Call& call, ScheduleBuilder& builder) {
                                      write(topology, call, builder);
                                    }});
}

}  // namespace

AlgorithmEntry hierarchical_algorithm() {
  return {"hierarchical",
          "reduce-scatter within each node, allreduce among nodes, allgather within each node",
          &make};
}

}  // namespace assay
