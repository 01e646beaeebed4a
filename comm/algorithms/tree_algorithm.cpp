// tree: binomial trees, for messages so small that latency alone counts.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/parts.hpp"
#include "comm/algorithms/scheduled.hpp"

namespace assay {

namespace {

void write(const Call& call, ScheduleBuilder& builder) {
  const Group all = every(0, 1, builder.size(), builder.rank());
  const Part from = builder.whole_send(), into = builder.whole_receive();
  if (call.what == Collective::broadcast) return tree_broadcast(builder, all, call.root, into);
  const int root = call.what == Collective::reduce ? call.root : 0;
  // reduce must write `receive` only on the root.
  const bool own_memory = call.what == Collective::reduce && builder.rank() != root;
  const Part sum = own_memory ? builder.scratch(from.count) : into;
  tree_reduce(builder, all, root, from, sum);
  if (call.op == ReduceOp::average && builder.rank() == root) builder.scale(sum);
  if (call.what == Collective::allreduce) tree_broadcast(builder, all, root, into);
}

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("tree", options); !reason.empty())
    return Unsupported{std::move(reason)};
  return make_scheduled(
      transport,
      {"tree", {Collective::allreduce, Collective::reduce, Collective::broadcast}, &write});
}

}  // namespace

AlgorithmEntry tree_algorithm() { return {"tree", "binomial trees to and from one rank", &make}; }

}  // namespace assay
