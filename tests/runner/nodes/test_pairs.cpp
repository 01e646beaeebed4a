// Rounds of pairs: each pair once, a node once in a round. The names of slow links and nodes.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "core/base/error.hpp"
#include "runner/nodes/per_node.hpp"

namespace assay {
namespace test_pairs {

struct ToldOfPairs {
  ExitCode code;
  std::string text;
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
};

/// The findings about all pairs of the nodes a, b, c, … with these times of each case; 0: the pair
/// was not measured.
ToldOfPairs told_of_pairs(int nodes,
                          const std::function<double(char, char, const std::string&)>& time,
                          const std::vector<std::string>& cases) {
  std::vector<RunRemains> runs;
  for (int i = 0; i < nodes; ++i)
    for (int j = i + 1; j < nodes; ++j) {
      const char first = static_cast<char>('a' + i), second = static_cast<char>('a' + j);
      RunRemains run;
      run.name = std::string(1, first) + "+" + second;
      for (const std::string& id : cases) {
        if (time(first, second, id) == 0) continue;
        Row row{.id = id, .attempt = 1, .status = "ok"};
        row.parameters["nodes"] = 2;
        row.time_s.emplace().median = time(first, second, id);
        if (!run.result) run.result.emplace();
        run.result->rows.push_back(row);
      }
      if (run.result) runs.push_back(run);
    }
  testing::internal::CaptureStdout();
  const auto code = static_cast<ExitCode>(report_pairs(runs, 0.1));
  return {code, testing::internal::GetCapturedStdout()};
}

ToldOfPairs told_of_pairs(int nodes, const std::function<double(char, char)>& time) {
  return told_of_pairs(
      nodes, [&](char first, char second, const std::string&) { return time(first, second); },
      {"allreduce"});
}

/// Noise of at most 3 %, other for each pair.
double noise_of_pair(char first, char second) {
  return 0.97 + 0.06 * ((first * 7 + second * 13) % 11) / 10.0;
}

class NodesOfPairs : public testing::TestWithParam<int> {};

TEST_P(NodesOfPairs, AreAllGoodInSpiteOfNoise) {
  const ToldOfPairs good = told_of_pairs(GetParam(), noise_of_pair);
  EXPECT_EQ(good.code, ExitCode::ok) << good.text;
  EXPECT_TRUE(good.has("0 of ")) << good.text;
  EXPECT_FALSE(good.has("slow,") || good.has(" slow\n")) << good.text;
}

TEST_P(NodesOfPairs, HaveASlowNode) {
  const int count = GetParam();
  const ToldOfPairs slow = told_of_pairs(
      count, [](char first, char second) { return first == 'c' || second == 'c' ? 1.2 : 1; });
  EXPECT_EQ(slow.code, ExitCode::slower) << slow.text;
  EXPECT_TRUE(slow.has("c: all of its " + std::to_string(count - 1) +
                       " pairs are slow, the best 1.2 times (the node rather than a link)"))
      << slow.text;
  EXPECT_FALSE(slow.has("a: ") || slow.has("b: ")) << "they are good: " << slow.text;
  EXPECT_TRUE(slow.has(std::to_string(count - 1) + " of ")) << slow.text;
}

TEST_P(NodesOfPairs, HaveASlowLink) {
  const int count = GetParam();
  const ToldOfPairs slow = told_of_pairs(
      count, [](char first, char second) { return first == 'a' && second == 'c' ? 1.2 : 1; });
  EXPECT_EQ(slow.code, ExitCode::slower) << slow.text;
  const std::string one = ": 1 of its " + std::to_string(count - 1) + " pairs is slow";
  EXPECT_TRUE(slow.has("a" + one) && slow.has("c" + one)) << slow.text;
  EXPECT_FALSE(slow.has("b: ") || slow.has("the node rather")) << slow.text;
  EXPECT_TRUE(slow.has("1 of ")) << slow.text;
}

INSTANTIATE_TEST_SUITE_P(Sizes, NodesOfPairs, testing::Values(3, 4, 5, 8, 16));

TEST(TwoNodes, HaveNothingToBeComparedWith) {
  EXPECT_EQ(told_of_pairs(2, [](char, char) { return 1.0; }).code, ExitCode::ok);
}

TEST(TwoBadNodes, AreFoundAmongSix) {
  const auto bad = [](char node) { return node == 'b' || node == 'e'; };
  const ToldOfPairs slow = told_of_pairs(
      6, [&](char first, char second) { return bad(first) || bad(second) ? 1.2 : 1; });
  for (const char* node : {"b", "e"})
    EXPECT_TRUE(slow.has(std::string(node) + ": all of its 5 pairs")) << slow.text;
  EXPECT_FALSE(slow.has("a: ")) << slow.text;
}

TEST(PairsThatAreSlowInOneOfManyCases, NameNoNode) {
  // Each pair of three nodes is slow in a case of its own.
  const ToldOfPairs noisy = told_of_pairs(3,
                                          [](char first, char second, const std::string& id) {
                                            return id == std::string{first, second} ? 1.2 : 1;
                                          },
                                          {"ab", "ac", "bc"});
  EXPECT_EQ(noisy.code, ExitCode::slower) << noisy.text;
  EXPECT_TRUE(noisy.has("typical time: 3 of 3 pairs") && noisy.has("no node can be named"))
      << noisy.text;
  EXPECT_FALSE(noisy.has("a: ") || noisy.has("b: ") || noisy.has("c: ")) << noisy.text;
}

TEST(PairsOfFewRounds, AreComparedWithMostOfThem) {
  // Two of the 15 rounds of 16 nodes, each with its neighbours; noise of at most 5 %.
  const auto two_rounds = [](char first, char second) {
    if (second != first + 1 && (first != 'a' || second != 'p')) return 0.0;
    if (first == 'a' && second == 'b') return 0.95;
    return first % 2 == 0 ? 1.05 : 0.99;
  };
  const ToldOfPairs good = told_of_pairs(16, two_rounds);
  EXPECT_EQ(good.code, ExitCode::ok) << good.text;
  const ToldOfPairs slow = told_of_pairs(16, [&](char first, char second) {
    return two_rounds(first, second) * (first == 'e' || second == 'e' ? 2 : 1);
  });
  EXPECT_EQ(slow.code, ExitCode::slower);
  EXPECT_TRUE(slow.has("e: all of its 2 pairs are slow") && slow.has("of those that were measured"))
      << slow.text;
  EXPECT_FALSE(slow.has("rather than a link")) << slow.text;
}

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

}  // namespace test_pairs
}  // namespace assay
