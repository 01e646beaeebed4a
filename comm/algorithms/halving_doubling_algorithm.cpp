// halving_doubling: a ring's traffic in 2 log2(ranks) messages.
#include "comm/algorithms/algorithm.hpp"
#include "comm/algorithms/parts.hpp"
#include "comm/algorithms/scheduled.hpp"

namespace assay {

namespace {

Result<std::unique_ptr<Communicator>> make(Communicator& transport, Communicator&,
                                           const Options& options) {
  if (std::string reason = why_not_host("halving_doubling", options); !reason.empty())
    return Unsupported{std::move(reason)};
  return make_scheduled(
      transport,
      {"halving_doubling", {Collective::allreduce}, [](const Call& call, ScheduleBuilder& builder) {
         halving_doubling(builder, every(0, 1, builder.size(), builder.rank()),
                          builder.whole_send(), builder.whole_receive(),
                          call.op == ReduceOp::average);
       }});
}

}  // namespace

AlgorithmEntry halving_doubling_algorithm() {
  return {"halving_doubling", "recursive halving, then doubling; odd ranks are folded", &make};
}

}  // namespace assay
