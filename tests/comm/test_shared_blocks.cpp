// Cuts of calls into blocks and slices by the shared-memory algorithm.
#include "comm/algorithms/shared_blocks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace test_shared_blocks {

TEST(SharedBlocks, SlicesCoverTheVectorOnceAndAreNotTooLong) {
  constexpr std::size_t slice_bytes = 4096;
  for (const Collective what : {Collective::allreduce, Collective::broadcast, Collective::allgather,
                                Collective::reduce_scatter, Collective::alltoall})
    for (const int ranks : {2, 3})
      for (const std::int64_t count : {0, 1, 5, 7000, 100003}) {
        const bool parts = what != Collective::allreduce && what != Collective::broadcast;
        const std::int64_t all = parts ? count * ranks : count;
        Call call;
        call.what = what;
        call.send = {nullptr, what == Collective::allgather ? count : all, DataType::fp32};
        call.receive = {nullptr, what == Collective::reduce_scatter ? count : all, DataType::fp32};
        const SharedBlocks blocks(call, ranks, slice_bytes);
        std::vector<int> covered(static_cast<std::size_t>(all));
        for (std::uint64_t block = 0; block < blocks.count(); ++block)
          for (int rank = 0; rank < ranks; ++rank) {
            const SharedBlocks::Range range = blocks.slice(block, rank);
            EXPECT_LE(static_cast<std::size_t>(range.count) * sizeof(float), slice_bytes);
            for (std::int64_t i = range.first; i < range.first + range.count; ++i)
              ++covered.at(static_cast<std::size_t>(i));
          }
        EXPECT_EQ(covered, std::vector<int>(static_cast<std::size_t>(all), 1))
            << name(what) << " " << count << " " << ranks;
        EXPECT_EQ(blocks.length(), count);
      }
}

}  // namespace test_shared_blocks
}  // namespace assay
