// The cache that holds a working set, and the working set that measures a cache.
#include "runner/ceilings/cache_levels.hpp"

#include <gtest/gtest.h>

namespace test_cache_levels {

using namespace assay;
using nlohmann::json;

json cache(int level, double bytes, int count, const char* type = "unified") {
  return {{"level", level}, {"type", type}, {"bytes", bytes}, {"count", count}};
}

std::vector<double> sizes(const json& caches, int threads) {
  std::vector<double> all;
  for (const CacheLevel& level : cache_levels({{"caches", caches}}, threads))
    all.push_back(level.bytes);
  return all;
}

const json server = {cache(1, 32e3, 8, "data"), cache(1, 64e3, 8, "instruction"), cache(2, 1e6, 8),
                     cache(3, 30e6, 2)};

TEST(CacheLevels, AreOfTheThreadsButForTheLast) {
  EXPECT_EQ(sizes(server, 1), (std::vector<double>{32e3, 1e6, 60e6}));
  EXPECT_EQ(sizes(server, 4), (std::vector<double>{128e3, 4e6, 60e6}));
  EXPECT_EQ(sizes(server, 100), (std::vector<double>{256e3, 8e6, 60e6}));
  EXPECT_TRUE(sizes(json::array(), 4).empty());
}

TEST(CacheLevels, OfTwoKindsOfCoresTheLargerCountFirst) {
  const json mixed = {cache(1, 32e3, 8, "data"), cache(1, 48e3, 2, "data"), cache(2, 1e7, 1)};
  EXPECT_EQ(sizes(mixed, 3)[0], 2 * 48e3 + 32e3);
}

TEST(CacheLevels, ALevelThatHoldsNoMoreThanTheInnerOneIsLeftOut) {
  EXPECT_EQ(sizes({cache(2, 2e6, 8), cache(3, 10e6, 1)}, 8), (std::vector<double>{16e6}));
}

TEST(CacheLevels, HoldAndBound) {
  const std::vector<CacheLevel> levels = cache_levels({{"caches", server}}, 2);
  const auto bounding = [&](double bytes) { return bounding_levels(bytes, levels); };
  EXPECT_EQ(bounding(64e3), (std::vector<std::size_t>{0}));
  EXPECT_EQ(bounding(64e3 + 1), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(bounding(60e6), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(bounding(1e9), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(level_name(2, levels), "L3");
  EXPECT_EQ(level_name(3, levels), "memory");
  EXPECT_EQ(bytes_from(0, 1e6, levels), 1e6);
  EXPECT_EQ(bytes_from(1, 1e6, levels), 1e6 - 64e3);
  EXPECT_EQ(bytes_from(3, 1e6, levels), 0);
}

TEST(CacheLevels, AProbeLiesInItsLevel) {
  // The last one has an L3 that is little larger than the L2s together.
  for (const json& caches :
       {server, json{cache(1, 48e3, 64, "data"), cache(2, 2e6, 64), cache(3, 160e6, 1)}})
    for (const int threads : {1, 2, 8, 64}) {
      const std::vector<CacheLevel> levels = cache_levels({{"caches", caches}}, threads);
      for (std::size_t level = 0; level <= levels.size(); ++level)
        EXPECT_EQ(find_level(probe_bytes(level, levels), levels), level) << threads;
    }
}

}  // namespace test_cache_levels
