// exascale_hybrid (Kurth et al. 2018, arXiv:1810.01993): NCCL allreduce inside each node; then four
// ranks of each node, two on each socket, each allreduce a quarter between nodes by MPI, for the
// node's four network ports; then NCCL broadcast inside each node. --intra-node replaces NCCL.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/exascale_leaders.hpp"
#include "comm/algorithms/hybrid.hpp"

namespace assay {

namespace {

class Exascale final : public Hybrid {
 public:
  Exascale(IntraNode intra_node, Communicator& transport, const std::vector<int>& leaders)
      : intra_node_(std::move(intra_node)), leaders_(leaders) {
    int quarter = 0;
    while (quarter < 4 && leaders_[static_cast<std::size_t>(quarter)] != intra_node_->rank())
      ++quarter;
    mine_ = quarter;  // 4: this rank has no quarter
    across_ = transport.split(quarter, transport.node());
  }
  std::string name() const override { return "exascale_hybrid"; }

  void steps(const Call& call, const VisitStep& visit) const override {
    const bool average = call.op == ReduceOp::average;
    const ReduceOp op = average ? ReduceOp::sum : call.op;
    if (call.send.count == 0) return;
    visit({&*intra_node_, {Collective::allreduce, call.send, call.receive, op, 0}});
    const auto quarter = [&](int index) {
      const Part part = piece({Part::Memory::receive, 0, call.receive.count}, 4, index);
      return call.receive.part(part.first, part.count);
    };
    if (mine_ < 4 && quarter(mine_).count > 0) {
      const Buffer own = quarter(mine_);
      visit({across_.get(), {Collective::allreduce, own, own, op, 0}});
      if (average) visit({nullptr, {Collective::allreduce, own, own, op, 0}});
    }
    for (int index = 0; index < 4; ++index)
      if (quarter(index).count > 0)
        visit({&*intra_node_,
               {Collective::broadcast,
                {},
                quarter(index),
                op,
                leaders_[static_cast<std::size_t>(index)]}});
  }

 private:
  IntraNode intra_node_;
  std::vector<int> leaders_;  ///< of this node, by quarter
  int mine_ = 4;              ///< this rank's quarter; 4: none
  std::unique_ptr<Communicator> across_;
};

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator& intra_node,
                                           const Options& options) {
  const Topology topology = gather_topology(transport);
  for (std::size_t node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].size() < 4)
      return Unsupported{"exascale_hybrid needs four ranks on each node (node " +
                         std::to_string(node) + " has " +
                         std::to_string(topology.nodes[node].size()) + ")"};
  Result<IntraNode> inside = IntraNode::make(intra_node, options);
  if (auto* refusal = std::get_if<Unsupported>(&inside)) return std::move(*refusal);
  IntraNode& node = std::get<IntraNode>(inside);
  const std::vector<int> leaders = exascale_leaders(find_sockets(*node));
  return make_hybrid_communicator(transport,
                                  std::make_unique<Exascale>(std::move(node), transport, leaders),
                                  options.get("device", "cpu"));
}

}  // namespace

AlgorithmEntry exascale_hybrid_algorithm() {
  return {
      "exascale_hybrid",
      "NCCL (or --intra-node) allreduce, four ranks of each node allreduce a quarter each, NCCL "
      "broadcast",
      &make};
}

}  // namespace assay
