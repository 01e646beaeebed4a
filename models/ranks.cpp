#include "models/ranks.hpp"

namespace assay {

Call RankCalls::make_sum(std::span<double> values) {
  const Buffer all{values.data(), static_cast<std::int64_t>(values.size()), DataType::fp64};
  return {Collective::allreduce, all, all, ReduceOp::sum, 0};
}

Call RankCalls::make_broadcast(std::span<double> values) {
  return {Collective::broadcast,
          {},
          {values.data(), static_cast<std::int64_t>(values.size()), DataType::fp64},
          ReduceOp::sum,
          0};
}

void RankCalls::prepare(std::span<double> values) {
  ranks_.prepare(make_sum(values));
  ranks_.prepare(make_broadcast(values));
}

/// MPI recommends, but does not require, that a reduction gives the same bits on all ranks (MPI
/// 4.0, section 6.9.1). So rank 0's result is broadcast, and decisions cannot differ.
void RankCalls::sum(std::span<double> values) {
  if (size() == 1) return;
  ranks_.run(make_sum(values), stream_);
  ranks_.run(make_broadcast(values), stream_);
}

void RankCalls::broadcast(std::span<double> values) {
  if (size() == 1) return;
  ranks_.run(make_broadcast(values), stream_);
}

}  // namespace assay
