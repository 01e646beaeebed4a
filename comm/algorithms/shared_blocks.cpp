#include "comm/algorithms/shared_blocks.hpp"

#include <algorithm>

namespace assay {

SharedBlocks::SharedBlocks(const Call& call, int ranks, std::size_t slice_bytes) : ranks_(ranks) {
  if (call.what == Collective::barrier) {
    count_ = 1;
    return;
  }
  const Buffer& least = call.what == Collective::allgather ? call.send : call.receive;
  parts_ = call.what == Collective::allgather || call.what == Collective::reduce_scatter ||
           call.what == Collective::alltoall;
  length_ = call.what == Collective::alltoall ? call.send.count / ranks : least.count;
  const auto most =
      static_cast<std::int64_t>(slice_bytes / size_of(least.type)) * (parts_ ? 1 : ranks);
  // At least four blocks, so that the three steps overlap, but no block so small that the flags
  // cost more time than the data.
  const auto few = static_cast<std::int64_t>(16384 / size_of(least.type));
  step_ = std::clamp((length_ + 3) / 4, std::min(few, most), most);
  count_ = static_cast<std::uint64_t>((length_ + step_ - 1) / step_);
}

SharedBlocks::Range SharedBlocks::slice(std::uint64_t block, int rank) const {
  const std::int64_t first = static_cast<std::int64_t>(block) * step_;
  const std::int64_t count = std::min(step_, length_ - first);
  if (parts_) return {rank * length_ + first, count};
  const std::int64_t even = count / ranks_, longer = count % ranks_;
  return {first + even * rank + std::min<std::int64_t>(longer, rank),
          even + (rank < longer ? 1 : 0)};
}

}  // namespace assay
