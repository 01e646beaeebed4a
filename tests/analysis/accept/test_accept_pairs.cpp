// Rows that pairs of nodes ran: a node is judged by its best pair, a path where both of its nodes
// are good.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>

#include "accept/accept_data.hpp"
#include "analysis/accept/pair_rows.hpp"

namespace assay {
namespace test_accept_pairs {

using nlohmann::json;
using namespace test;

/// The row of a pair: seconds, or a status.
struct PairRow {
  double seconds = 1;
  std::string status = "ok";
};
using MakePair = std::function<PairRow(int, int)>;

NamedResult pair_of(int a, int b, const PairRow& made) {
  json measured = row(made.status, made.seconds, 0, {{"threads", "16"}});
  measured["parameters"]["nodes"] = 2;
  NamedResult pair = node(a, {measured});
  pair.name = pair.result.run.id = host(a) + "+" + host(b);
  pair.result.environments.front().rank_hosts = {host(a), host(b)};
  return pair;
}

/// All results of two nodes are those of listed pairs.
PairsOfRuns all_listed(const std::vector<NamedResult>& results) {
  PairsOfRuns pairs;
  for (const NamedResult& named : results)
    if (has(named.name, "+")) pairs.results.insert(named.name);
  return pairs;
}

/// Healthy nodes, and a result of each of their pairs.
json judge_pairs(int nodes, const MakePair& make, const json& criteria = five_percent) {
  std::vector<NamedResult> results = healthy(nodes);
  for (int a = 0; a < nodes; ++a)
    for (int b = a + 1; b < nodes; ++b) results.push_back(pair_of(a, b, make(a, b)));
  const Criteria rules = make_criteria(criteria);
  // The fields that accept keeps of a file's rows suffice.
  for (NamedResult& named : results)
    for (Row& each : named.result.rows) keep_for_acceptance(rules)(each, "", {});
  return judge(results, criteria, all_listed(results));
}

std::set<std::string> failed_nodes(const json& document) {
  std::set<std::string> failed;
  for (const json& node : document["nodes"])
    if (node["verdict"] != "PASS")
      failed.insert(node["node"].get<std::string>() + " " + node["verdict"].get<std::string>());
  return failed;
}

TEST(AcceptPairs, AreGoodWhereAllAre) {
  for (const int nodes : {3, 4, 9}) {
    const json document = judge_pairs(
        nodes, [](int a, int b) { return PairRow{0.99 + 0.02 * ((a * 7 + b * 13) % 11) / 10}; });
    EXPECT_EQ(document["verdict"], "PASS") << document["reason"];
    EXPECT_TRUE(document["unmet"].empty());
    EXPECT_EQ(document["nodes"].size(), static_cast<std::size_t>(nodes));
    EXPECT_EQ(find_node(document, 1)["rows"].size(), 3U);
  }
}

TEST(AcceptPairs, ANodeWhoseBestPairIsSlowFailsAlone) {
  for (const int nodes : {3, 4, 9}) {
    const json document =
        judge_pairs(nodes, [](int a, int) { return PairRow{a == 0 ? 2.0 : 1.0}; });
    EXPECT_EQ(failed_nodes(document), std::set<std::string>{host(0) + " PERF-FAIL"});
    EXPECT_TRUE(document["unmet"].empty()) << "its pairs are explained by the node";
    const std::string reason = find_node(document, 0)["reason"];
    EXPECT_TRUE(has(reason, fmt::format("in the best of its {} pairs, n00+n01", nodes - 1)))
        << reason;
  }
}

TEST(AcceptPairs, APathBetweenGoodNodesIsNamed) {
  const auto slow_path = [](int a, int b) { return PairRow{a == 1 && b == 3 ? 2.0 : 1.0}; };
  json document = judge_pairs(5, slow_path);
  EXPECT_EQ(failed_nodes(document), std::set<std::string>{});
  ASSERT_EQ(document["unmet"].size(), 1U);
  EXPECT_EQ(document["unmet"][0]["verdict"], "PERF-FAIL");
  EXPECT_EQ(document["verdict"], "PERF-FAIL");
  const std::string reason = document["unmet"][0]["reason"];
  EXPECT_TRUE(has(reason, "between n01 and n03: speedup over the other pairs 0.5")) << reason;
  // A promised time, too.
  document = judge_pairs(
      5, slow_path, {{"absolute", {{{"rows", "/16"}, {"quantity", "time_s"}, {"at_most", 1.5}}}}});
  ASSERT_EQ(document["unmet"].size(), 1U);
  EXPECT_TRUE(has(document["unmet"][0]["reason"], "between n01 and n03: time_s is 2.00 s"));
}

TEST(AcceptPairs, AWrongResultBetweenANodeThatIsSlowAndAnotherIsNotExplained) {
  json document = judge_pairs(4, [](int a, int b) {
    return PairRow{a == 0 ? 2.0 : 1.0, a == 0 && b == 3 ? "incorrect" : "ok"};
  });
  EXPECT_EQ(failed_nodes(document), std::set<std::string>{host(0) + " PERF-FAIL"});
  ASSERT_EQ(document["unmet"].size(), 1U);
  EXPECT_EQ(document["verdict"], "INCORRECT");
  EXPECT_EQ(document["exit_code"], 3);
  // All pairs of a node are wrong: it is the node.
  document = judge_pairs(4, [](int, int b) { return PairRow{1, b == 3 ? "incorrect" : "ok"}; });
  EXPECT_EQ(failed_nodes(document), std::set<std::string>{host(3) + " INCORRECT"});
  EXPECT_TRUE(document["unmet"].empty());
}

TEST(AcceptPairs, TheGravestOfPairsWithoutATimeCounts) {
  const json document = judge_pairs(4, [](int a, int b) {
    return PairRow{1, b != 3 ? "ok" : a == 1 ? "incorrect" : "failed"};
  });
  EXPECT_EQ(failed_nodes(document), std::set<std::string>{host(3) + " INCORRECT"});
}

TEST(AcceptPairs, ANodeThatIsInNoPairLacksTheRow) {
  std::vector<NamedResult> results = healthy(4);
  for (const auto& [a, b] : {std::pair(0, 1), {0, 2}, {1, 2}}) results.push_back(pair_of(a, b, {}));
  EXPECT_EQ(failed_nodes(judge(results, five_percent, all_listed(results))),
            std::set<std::string>{host(3) + " MISSING"});
}

TEST(AcceptPairs, ASinglePairIsAJobOfSeveralNodes) {
  std::vector<NamedResult> results = healthy(4);
  results.push_back(pair_of(0, 1, {}));
  const json document = judge(results, five_percent, all_listed(results));
  EXPECT_EQ(document["verdict"], "PASS");
  ASSERT_EQ(document["not_judged"].size(), 1U);
  EXPECT_TRUE(has(document["not_judged"][0]["reason"], "several nodes"));
}

TEST(AcceptPairs, JobsOfTwoNodesThatNoListNamesAreNoPairs) {
  std::vector<NamedResult> results = healthy(4);
  results.push_back(pair_of(0, 1, {}));
  results.push_back(pair_of(0, 1, {}));
  results.back().result.run.id = results.back().name = "another job";
  results.push_back(pair_of(1, 2, {}));
  const json document = judge(results, five_percent);
  EXPECT_EQ(failed_nodes(document), std::set<std::string>{}) << "the others need no such row";
  EXPECT_EQ(document["verdict"], "PASS") << document["reason"];
}

TEST(AcceptPairs, TheGraverOfAJobAndASinglePairCounts) {
  std::vector<NamedResult> results = healthy(4);
  results.push_back(pair_of(0, 1, {1, "incorrect"}));
  const PairsOfRuns listed = all_listed(results);
  results.push_back(pair_of(1, 2, {}));
  EXPECT_EQ(judge(results, five_percent, listed)["verdict"], "INCORRECT");
}

TEST(AcceptPairs, APairWithoutAResultIsMissing) {
  std::vector<NamedResult> results = healthy(4);
  for (const auto& [a, b] : {std::pair(0, 1), {0, 2}, {1, 2}, {0, 3}, {1, 3}})
    results.push_back(pair_of(a, b, {}));
  PairsOfRuns pairs = all_listed(results);
  pairs.report_missing_result = {host(2) + "+" + host(3)};
  const json document = judge(results, five_percent, pairs);
  EXPECT_EQ(failed_nodes(document), std::set<std::string>{});
  EXPECT_EQ(document["verdict"], "MISSING");
  ASSERT_EQ(document["unmet"].size(), 1U);
  EXPECT_EQ(document["unmet"][0]["reason"], "between n02 and n03: no result");
}

TEST(AcceptPairs, AreFoundByTheListBesideTheirFolders) {
  const fixture::Folder folder;
  for (const char* run : {"n00", "n00+n01", "n01+n02"}) {
    std::filesystem::create_directories(folder.path() / run);
    folder.put(std::string(run) + "/result.json", "{}");
  }
  folder.put("pairs.txt", "n00+n01\nn00+n02\n");
  const std::string top = folder.path().string();
  const PairsOfRuns pairs = pair_runs({top});
  EXPECT_EQ(pairs.results, std::set<std::string>{top + "/n00+n01/result.json"});
  EXPECT_EQ(pairs.report_missing_result, std::set<std::string>{"n00+n02"});
  // Named alone, a result is a pair, but nothing is said of others in the list above it.
  const PairsOfRuns alone = pair_runs({top + "/n00+n01"});
  EXPECT_EQ(alone.results, std::set<std::string>{top + "/n00+n01"});
  EXPECT_TRUE(alone.report_missing_result.empty());
}

}  // namespace test_accept_pairs
}  // namespace assay
