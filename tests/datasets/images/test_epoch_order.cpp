#include "datasets/images/epoch_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace assay {
namespace test_epoch_order {

using Order = std::vector<std::int64_t>;

Order sorted(Order order) {
  std::sort(order.begin(), order.end());
  return order;
}

Order counting(std::int64_t count) {
  Order order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

TEST(EpochOrder, EveryEpochIsAnotherPermutation) {
  const EpochOrder order(1000, {0, 100, 500}, 7, true, 0);
  const Order first = *order.samples(0), second = *order.samples(1);
  EXPECT_EQ(sorted(first), counting(1000));
  EXPECT_EQ(sorted(second), counting(1000));
  EXPECT_NE(first, second);
  EXPECT_NE(first, counting(1000));
  EXPECT_EQ(*EpochOrder(1000, {0, 100, 500}, 7, true, 0).samples(1), second);
  EXPECT_NE(*EpochOrder(1000, {0, 100, 500}, 8, true, 0).samples(1), second);
  EXPECT_NE(*order.samples(std::uint64_t{1} << 32), first);
  EXPECT_EQ(*order.samples(0), first);  // after others took its place
}

TEST(EpochOrder, PlacesAreEquallyLikely) {
  // Each sample in the first half of the order about every second time.
  std::vector<int> first_half(40);
  const EpochOrder order(40, {0}, 3, true, 0);
  for (std::uint64_t epoch = 0; epoch < 400; ++epoch) {
    const auto samples = order.samples(epoch);
    for (std::size_t i = 0; i < 20; ++i) ++first_half[static_cast<std::size_t>((*samples)[i])];
  }
  for (const int count : first_half) EXPECT_NEAR(count, 200, 50);  // 5 standard deviations
}

TEST(EpochOrder, WithoutShufflingItIsThatOfTheSet) {
  EXPECT_EQ(*EpochOrder(50, {0, 10}, 7, false, 1).samples(3), counting(50));
}

TEST(EpochOrder, InterleaveLimitsTheShardsInUse) {
  const Order firsts = {0, 10, 20, 30, 40, 50, 60};  // 7 shards of 10
  for (const int interleave : {1, 2, 3, 7, 100}) {
    const Order order = *EpochOrder(70, firsts, 5, true, interleave).samples(2);
    EXPECT_EQ(sorted(order), counting(70));
    std::set<std::int64_t> seen;
    for (std::size_t first = 0; first < 70; first += static_cast<std::size_t>(10 * interleave)) {
      std::set<std::int64_t> group;
      for (std::size_t i = first; i < std::min<std::size_t>(70, first + 10u * interleave); ++i)
        group.insert(order[i] / 10);
      EXPECT_LE(std::ssize(group), interleave);
      for (const std::int64_t shard : group) EXPECT_TRUE(seen.insert(shard).second);
      if (interleave == 3 && first == 0) {  // mixed, not one after the other
        EXPECT_FALSE(std::is_sorted(order.begin(), order.begin() + 30,
                                    [](auto a, auto b) { return a / 10 < b / 10; }));
      }
    }
    // Shards of unequal order: the first one is not always the first.
    EXPECT_NE(*EpochOrder(70, firsts, 5, true, interleave).samples(3), order);
  }
}

TEST(RankShare, RanksTogetherReadWhatOneRankReads) {
  for (const int ranks : {1, 2, 3}) {
    std::set<std::int64_t> positions;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankShare share{50, 4, rank, ranks, true};
      EXPECT_EQ(share.steps(), 50 / 4 / ranks);
      for (std::int64_t step = 0; step < share.steps(); ++step)
        for (std::int64_t i = 0; i < 4; ++i) {
          const std::int64_t position = share.position(step, i);
          EXPECT_EQ(position, (step * ranks + rank) * 4 + i);
          EXPECT_TRUE(positions.insert(position).second);
        }
    }
    EXPECT_EQ(std::ssize(positions), 50 / 4 / ranks * 4 * ranks);
    EXPECT_EQ(*positions.rbegin(), std::ssize(positions) - 1);
  }
}

TEST(RankShare, EvaluationReadsEachSampleOnceEvenWithMoreRanksThanSamples) {
  for (const int ranks : {1, 3, 16}) {
    std::multiset<std::int64_t> positions;
    for (int rank = 0; rank < ranks; ++rank) {
      const RankShare share{10, 4, rank, ranks, false};
      EXPECT_EQ(share.steps(), (3 + ranks - 1) / ranks);
      for (std::int64_t step = 0; step < share.steps(); ++step)
        for (std::int64_t i = 0; i < 4; ++i)
          if (const std::int64_t position = share.position(step, i); position >= 0)
            positions.insert(position);
    }
    const Order all = counting(10);
    EXPECT_TRUE(std::equal(positions.begin(), positions.end(), all.begin(), all.end()));
  }
}

}  // namespace test_epoch_order
}  // namespace assay
