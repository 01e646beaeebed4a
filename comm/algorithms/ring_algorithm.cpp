// ring: every rank sends only to its right neighbour. The traffic is minimal for any number of
// ranks; the latency grows with the number.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/parts.hpp"
#include "comm/algorithms/scheduled.hpp"

namespace assay {

namespace {

void write(const Call& call, ScheduleBuilder& builder) {
  const Group all = every(0, 1, builder.size(), builder.rank());
  const Part from = builder.whole_send(), into = builder.whole_receive();
  const bool average = call.op == ReduceOp::average;
  switch (call.what) {
    case Collective::reduce_scatter:
      ring_reduce_scatter(builder, all, from, into);
      if (average) builder.scale(into);
      break;
    case Collective::allgather:
      ring_allgather(builder, all, from, into);
      break;
    default: {
      const Part own = piece(into, all.size(), all.me);
      ring_reduce_scatter(builder, all, from, into);
      if (average) builder.scale(own);
      ring_allgather(builder, all, own, into);
    }
  }
}

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("ring", options); !reason.empty())
    return Unsupported{std::move(reason)};
  return make_scheduled(
      transport,
      {"ring", {Collective::allreduce, Collective::reduce_scatter, Collective::allgather}, &write});
}

}  // namespace

AlgorithmEntry ring_algorithm() {
  return {"ring", "reduce-scatter and allgather around a ring of all ranks, in segments", &make};
}

}  // namespace assay
