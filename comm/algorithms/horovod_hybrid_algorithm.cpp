// horovod_hybrid: NCCL reduce-scatter, MPI allreduce, NCCL allgather; what the ranks of a node do
// not divide by NCCL reduce, MPI allreduce, NCCL broadcast. `inside` stands in NCCL's place. Where
// nodes are unequal, pieces do not meet: then all goes the remainder's way.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/hybrid.hpp"

namespace assay {

namespace {

class Horovod final : public Hybrid {
 public:
  Horovod(Inside inside, Communicator& transport, const Topology& topology)
      : inside_(std::move(inside)), equal_(topology.equal), leads_(inside_->rank() == 0) {
    across_ = transport.split(equal_ ? inside_->rank() : (leads_ ? 0 : 1), transport.node());
  }
  std::string name() const override { return "horovod_hybrid"; }

  void calls(const Call& call, const ShowBelow& show) const override {
    const ReduceOp op = call.op == ReduceOp::average ? ReduceOp::sum : call.op;
    const bool average = call.op == ReduceOp::average;
    const std::int64_t count = call.send.count, local = inside_->size();
    const std::int64_t even = equal_ ? count - count % local : 0;
    if (even > 0) {
      const Buffer from = call.send.part(0, even), into = call.receive.part(0, even);
      const Buffer own = into.part(inside_->rank() * (even / local), even / local);
      show({&*inside_, {Collective::reduce_scatter, from, own, op, 0}});
      show({across_.get(), {Collective::allreduce, own, own, op, 0}});
      if (average) show({nullptr, {Collective::allreduce, own, own, op, 0}});
      show({&*inside_, {Collective::allgather, own, into, op, 0}});
    }
    if (count == even) return;
    const Buffer from = call.send.part(even, count - even);
    const Buffer into = call.receive.part(even, count - even);
    show({&*inside_, {Collective::reduce, from, into, op, 0}});
    if (leads_) {
      show({across_.get(), {Collective::allreduce, into, into, op, 0}});
      if (average) show({nullptr, {Collective::allreduce, into, into, op, 0}});
    }
    show({&*inside_, {Collective::broadcast, {}, into, op, 0}});
  }

 private:
  Inside inside_;
  bool equal_, leads_;
  std::unique_ptr<Communicator> across_;  ///< of the first ranks: also the leaders'
};

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator& inside,
                                           const Options& options) {
  const Topology topology = topology_of(transport);
  Result<Inside> made = Inside::make(inside, options);
  if (auto* refusal = std::get_if<Unsupported>(&made)) return std::move(*refusal);
  return hybrid_communicator(
      transport, std::make_unique<Horovod>(std::move(std::get<Inside>(made)), transport, topology),
      options.get("device", "cpu"));
}

}  // namespace

AlgorithmEntry horovod_hybrid_algorithm() {
  return {
      "horovod_hybrid",
      "NCCL (or --inside) reduce-scatter, the transport's allreduce among nodes, NCCL allgather",
      &make};
}

}  // namespace assay
