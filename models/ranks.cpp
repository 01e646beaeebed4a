#include "models/ranks.hpp"

namespace assay {

Call RankCalls::sum_of(std::span<double> values) {
  const Buffer all{values.data(), static_cast<std::int64_t>(values.size()), DataType::fp64};
  return {Collective::allreduce, all, all, ReduceOp::sum, 0};
}

Call RankCalls::broadcast_of(std::span<double> values) {
  return {Collective::broadcast,
          {},
          {values.data(), static_cast<std::int64_t>(values.size()), DataType::fp64},
          ReduceOp::sum,
          0};
}

void RankCalls::prepare(std::span<double> values) {
  ranks_.prepare(sum_of(values));
  ranks_.prepare(broadcast_of(values));
}

/// MPI recommends, but does not demand, that a reduction gives the same bits on all ranks
/// (MPI 4.0, section 6.9.1): rank 0's are broadcast, so that decisions cannot differ.
void RankCalls::sum(std::span<double> values) {
  if (size() == 1) return;
  ranks_.run(sum_of(values), stream_);
  ranks_.run(broadcast_of(values), stream_);
}

void RankCalls::broadcast(std::span<double> values) {
  if (size() == 1) return;
  ranks_.run(broadcast_of(values), stream_);
}

}  // namespace assay
