// horovod_hybrid: NCCL reduce-scatter inside each node, MPI allreduce between nodes, NCCL allgather
// inside each node. Elements that a node's ranks do not divide (all elements if nodes have
// different numbers of ranks) take another way: NCCL reduce, MPI allreduce, NCCL broadcast.
// --intra-node replaces NCCL.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/hybrid.hpp"

namespace assay {

namespace {

class Horovod final : public Hybrid {
 public:
  Horovod(IntraNode intra_node, Communicator& transport, const Topology& topology)
      : intra_node_(std::move(intra_node)),
        equal_(topology.equal),
        leads_(intra_node_->rank() == 0) {
    across_ = transport.split(equal_ ? intra_node_->rank() : (leads_ ? 0 : 1), transport.node());
  }
  std::string name() const override { return "horovod_hybrid"; }

  void steps(const Call& call, const VisitStep& visit) const override {
    const ReduceOp op = call.op == ReduceOp::average ? ReduceOp::sum : call.op;
    const bool average = call.op == ReduceOp::average;
    const std::int64_t count = call.send.count, local = intra_node_->size();
    const std::int64_t even = equal_ ? count - count % local : 0;
    if (even > 0) {
      const Buffer from = call.send.part(0, even), into = call.receive.part(0, even);
      const Buffer own = into.part(intra_node_->rank() * (even / local), even / local);
      visit({&*intra_node_, {Collective::reduce_scatter, from, own, op, 0}});
      visit({across_.get(), {Collective::allreduce, own, own, op, 0}});
      if (average) visit({nullptr, {Collective::allreduce, own, own, op, 0}});
      visit({&*intra_node_, {Collective::allgather, own, into, op, 0}});
    }
    if (count == even) return;
    const Buffer from = call.send.part(even, count - even);
    const Buffer into = call.receive.part(even, count - even);
    visit({&*intra_node_, {Collective::reduce, from, into, op, 0}});
    if (leads_) {
      visit({across_.get(), {Collective::allreduce, into, into, op, 0}});
      if (average) visit({nullptr, {Collective::allreduce, into, into, op, 0}});
    }
    visit({&*intra_node_, {Collective::broadcast, {}, into, op, 0}});
  }

 private:
  IntraNode intra_node_;
  bool equal_, leads_;
  std::unique_ptr<Communicator>
      across_;  ///< the ranks with this index on all nodes, or their first ranks
};

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator& intra_node,
                                           const Options& options) {
  const Topology topology = gather_topology(transport);
  Result<IntraNode> inside = IntraNode::make(intra_node, options);
  if (auto* refusal = std::get_if<Unsupported>(&inside)) return std::move(*refusal);
  return make_hybrid_communicator(
      transport,
      std::make_unique<Horovod>(std::move(std::get<IntraNode>(inside)), transport, topology),
      options.get("device", "cpu"));
}

}  // namespace

AlgorithmEntry horovod_hybrid_algorithm() {
  return {"horovod_hybrid",
          "NCCL (or --intra-node) reduce-scatter, the transport's allreduce between nodes, NCCL "
          "allgather",
          &make};
}

}  // namespace assay
