// Rounds of pairs: each pair once, a node once in a round.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/run/per_node.hpp"

namespace assay {
namespace {

class RoundsOfPairs : public testing::TestWithParam<int> {};

TEST_P(RoundsOfPairs, HoldEveryPairOnce) {
  const int count = GetParam();
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back("n" + std::to_string(i));
  const auto rounds = rounds_of_pairs(nodes);
  EXPECT_EQ(rounds.size(), static_cast<std::size_t>(count % 2 == 0 ? count - 1 : count));
  std::set<std::pair<std::string, std::string>> pairs;
  for (const auto& round : rounds) {
    std::set<std::string> busy;
    for (const auto& [first, second] : round) {
      EXPECT_TRUE(busy.insert(first).second && busy.insert(second).second);
      EXPECT_TRUE(pairs.insert({first, second}).second) << first << " " << second;
    }
  }
  EXPECT_EQ(pairs.size(), static_cast<std::size_t>(count * (count - 1) / 2));
}

INSTANTIATE_TEST_SUITE_P(Sizes, RoundsOfPairs, testing::Values(2, 3, 4, 5, 8, 17, 64));

}  // namespace
}  // namespace assay
