// exascale_hybrid (Kurth et al. 2018, arXiv:1810.01993): NCCL allreduce within the node; then four
// ranks of each node, two on each socket, for the node's four network ports, each allreduce a
// quarter by MPI; then NCCL broadcast. `inside` stands in NCCL's place.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/exascale_leaders.hpp"
#include "comm/algorithms/hybrid.hpp"

namespace assay {

namespace {

class Exascale final : public Hybrid {
 public:
  Exascale(Inside inside, Communicator& transport, const std::vector<int>& leaders)
      : inside_(std::move(inside)), leaders_(leaders) {
    int quarter = 0;
    while (quarter < 4 && leaders_[static_cast<std::size_t>(quarter)] != inside_->rank()) ++quarter;
    mine_ = quarter;  // 4: the others
    across_ = transport.split(quarter, transport.node());
  }
  std::string name() const override { return "exascale_hybrid"; }

  void calls(const Call& call, const ShowBelow& show) const override {
    const bool average = call.op == ReduceOp::average;
    const ReduceOp op = average ? ReduceOp::sum : call.op;
    if (call.send.count == 0) return;
    show({&*inside_, {Collective::allreduce, call.send, call.receive, op, 0}});
    const auto quarter = [&](int index) {
      const Part part = piece({Part::In::receive, 0, call.receive.count}, 4, index);
      return call.receive.part(part.first, part.count);
    };
    if (mine_ < 4 && quarter(mine_).count > 0) {
      const Buffer own = quarter(mine_);
      show({across_.get(), {Collective::allreduce, own, own, op, 0}});
      if (average) show({nullptr, {Collective::allreduce, own, own, op, 0}});
    }
    for (int index = 0; index < 4; ++index)
      if (quarter(index).count > 0)
        show({&*inside_,
              {Collective::broadcast,
               {},
               quarter(index),
               op,
               leaders_[static_cast<std::size_t>(index)]}});
  }

 private:
  Inside inside_;
  std::vector<int> leaders_;  ///< of my node, by quarter
  int mine_ = 4;              ///< quarter
  std::unique_ptr<Communicator> across_;
};

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator& inside,
                                           const Options& options) {
  const Topology topology = topology_of(transport);
  for (std::size_t node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].size() < 4)
      return Unsupported{"exascale_hybrid needs four ranks on each node (node " +
                         std::to_string(node) + " has " +
                         std::to_string(topology.nodes[node].size()) + ")"};
  Result<Inside> made = Inside::make(inside, options);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
  Inside& node = std::get<Inside>(made);
  const std::vector<int> leaders = exascale_leaders(sockets_of(*node));
  return hybrid_communicator(transport,
                             std::make_unique<Exascale>(std::move(node), transport, leaders),
                             options.get("device", "cpu"));
}

}  // namespace

AlgorithmEntry exascale_hybrid_algorithm() {
  return {"exascale_hybrid",
          "NCCL (or --inside) allreduce, four ranks of each node allreduce a quarter each, NCCL "
          "broadcast",
          &make};
}

}  // namespace assay
