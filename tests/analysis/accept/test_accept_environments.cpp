// Nodes with other hardware, software or threads than most: NOT-COMPARABLE, with what differs.
#include "accept_data.hpp"

namespace assay {
namespace test_accept_environments {

using nlohmann::json;
using namespace test;

const json plain_software = {
    {"libraries", {{"onednn", {{"onednn", "3.7.0"}, {"instruction_set", "avx512_core_bf16"}}}}},
    {"assay", {{"version", "0.1.0"}}},
    {"binaries", {{"libdnnl.so.3", "content 1"}}},
    {"switches", json::object()}};

/// Gives an environment of a node another software.
void set_software(NamedResult& named, const json& software, std::size_t environment = 0) {
  named.result.environments[environment].software = software;
  named.result.environments[environment].hashes.software = software.dump();
}

/// Nodes of equal software, whose last one has `software`.
std::vector<NamedResult> fleet_with(int nodes, const json& software) {
  auto results = healthy(nodes);
  for (NamedResult& named : results) set_software(named, plain_software);
  set_software(results.back(), software);
  return results;
}

json with_avx2() {
  json software = plain_software;
  software["libraries"]["onednn"]["instruction_set"] = "avx2";
  software["switches"]["ONEDNN_MAX_CPU_ISA"] = "AVX2";
  return software;
}

TEST(AcceptEnvironments, OtherSoftwareIsNotComparableAndSaysWhatDiffers) {
  const json document = judge(fleet_with(6, with_avx2()), five_percent);
  const json& node = find_node(document, 5);
  EXPECT_EQ(node["verdict"], "NOT-COMPARABLE");
  EXPECT_EQ(node["reason"],
            "not comparable: oneDNN used avx2, elsewhere avx512_core_bf16 "
            "(ONEDNN_MAX_CPU_ISA=AVX2 was set)");
  EXPECT_EQ(node["health"]["findings"].size(), 1U) << "the variable is told once";
  EXPECT_EQ(document["reason"], host(5) + ": " + node["reason"].get<std::string>());
  EXPECT_EQ(document["summary"]["not_comparable"], 1);
  EXPECT_EQ(document["summary"]["missing"], 0);
  EXPECT_EQ(document["summary"]["pass"], 5);
  EXPECT_EQ(document["exit_code"], 6);
  for (const json& row : node["rows"]) {
    EXPECT_EQ(row["verdict"], "NOT-COMPARABLE");
    EXPECT_TRUE(row["ratio"].is_null()) << "no number compares it with the others";
  }
  EXPECT_EQ(document["stragglers"].size(), 5U);
}

TEST(AcceptEnvironments, WhatANodeWithOtherSoftwareLacksIsNoNewVerdict) {
  auto results = fleet_with(6, with_avx2());
  results[5].result.rows[1] = row("unsupported", 2, 0, {{"threads", "4"}});
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 5)["verdict"], "NOT-COMPARABLE");
  EXPECT_EQ(find_node(document, 5)["rows"][1]["verdict"], "MISSING");
  // A wrong result is wrong, whatever computed it.
  results[5].result.rows[1] = row("incorrect", 2, 0, {{"threads", "4"}});
  EXPECT_EQ(find_node(judge(results, five_percent), 5)["verdict"], "INCORRECT");
}

TEST(AcceptEnvironments, EveryDifferenceIsAFinding) {
  json software = plain_software;
  software["libraries"]["onednn"]["onednn"] = "3.6.0";
  software["assay"]["version"] = "0.2.0";
  software["binaries"] = {{"libdnnl.so.3", "content 2"}, {"libnew.so", "content 3"}};
  software["switches"]["OMP_WAIT_POLICY"] = "active";
  const json document = judge(fleet_with(4, software), five_percent);
  std::vector<std::string> reasons;
  for (const json& finding : find_node(document, 3)["health"]["findings"])
    reasons.push_back(finding["reason"]);
  EXPECT_EQ(reasons,
            (std::vector<std::string>{"not comparable: OMP_WAIT_POLICY=active was set",
                                      "not comparable: oneDNN 3.6.0, elsewhere 3.7.0",
                                      "not comparable: assay version: 0.2.0, elsewhere 0.1.0",
                                      "not comparable: other builds of libdnnl.so.3, libnew.so"}));
  // And the other way round.
  auto results = fleet_with(4, plain_software);
  for (int i = 0; i < 3; ++i) set_software(results[static_cast<std::size_t>(i)], with_avx2());
  EXPECT_EQ(find_node(judge(results, five_percent), 3)["reason"],
            "not comparable: oneDNN used avx512_core_bf16, elsewhere avx2 "
            "(ONEDNN_MAX_CPU_ISA=AVX2 was set elsewhere)");
}

TEST(AcceptEnvironments, EachProcessIsComparedWithThatOfItsSuite) {
  const auto with_second = [](std::vector<NamedResult> results, const json& last) {
    for (NamedResult& named : results) {
      json blas = plain_software;
      blas["libraries"] = {{"openblas", {{"version", "0.3"}}}};
      named.result.environments.push_back(named.result.environments[0]);
      set_software(named, &named == &results.back() ? last : blas, 1);
      named.result.rows[1].environment = 1;
    }
    return results;
  };
  json older = plain_software;
  older["libraries"] = {{"openblas", {{"version", "0.2"}}}};
  const json document = judge(with_second(fleet_with(4, plain_software), older), five_percent);
  ASSERT_EQ(find_node(document, 3)["health"]["findings"].size(), 1U);
  EXPECT_EQ(find_node(document, 3)["reason"], "not comparable: openblas 0.2, elsewhere 0.3");
}

TEST(AcceptEnvironments, ANodeThatIsNotComparableIsNoReference) {
  // The nodes are n00, n01 (20 % slow) and n02 (half as fast, other software): with n02 among the
  // others, n01 would be faster than their median.
  std::vector<NamedResult> results{node(0, {row("ok", 1)}), node(1, {row("ok", 1.2)}),
                                   node(2, {row("ok", 2)})};
  for (NamedResult& named : results) set_software(named, plain_software);
  set_software(results[2], with_avx2());
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 1)["verdict"], "MISSING") << "n00 alone is no reference";
  EXPECT_EQ(find_node(document, 0)["verdict"], "MISSING");
  EXPECT_NE(document["not_compared"].get<std::string>().find(
                "Only 2 nodes have times of equal hardware and software"),
            std::string::npos)
      << document["not_compared"];
  results.push_back(node(3, {row("ok", 1)}));
  set_software(results[3], plain_software);
  EXPECT_EQ(find_node(judge(results, five_percent), 1)["verdict"], "PERF-FAIL");
}

TEST(AcceptEnvironments, AbsoluteLimitsJudgeEveryNode) {
  json criteria = {{"absolute", {{{"rows", "."}, {"quantity", "time_s"}, {"at_most", 1e-9}}}}};
  const json document = judge(fleet_with(4, with_avx2()), criteria);
  for (const json& row : find_node(document, 3)["rows"]) EXPECT_EQ(row["verdict"], "PERF-FAIL");
}

/// A row with the id that Assay gives it, which ends in the number of threads.
json threaded(const std::string& status, double seconds, int threads,
              const std::string& problem = "a") {
  json row = test::row(status, seconds, 0, {{"threads", std::to_string(threads)}});
  row["id"] = fmt::format("conv/forward/fp32/native/direct/{}/hot/t{}", problem, threads);
  return row;
}

TEST(AcceptThreads, HalfTheThreadsAreTheSameCaseAndFailNoOtherNode) {
  std::vector<NamedResult> results;
  for (int i = 0; i < 5; ++i)
    results.push_back(node(i, {threaded("ok", 1, 8, "a"), threaded("ok", 2, 8, "b")}));
  results.push_back(node(5, {threaded("ok", 2, 4, "a"), threaded("ok", 4, 4, "b")}));
  const json document = judge(results, five_percent);
  EXPECT_EQ(document["summary"]["pass"], 5) << "no node must have rows of the half node";
  EXPECT_EQ(find_node(document, 5)["verdict"], "NOT-COMPARABLE");
  EXPECT_EQ(find_node(document, 5)["reason"],
            "not comparable: 2 rows ran with 4 threads, elsewhere with 8");
  EXPECT_EQ(document["judged"].size(), 2U);
  EXPECT_EQ(find_node(document, 5)["rows"][0]["id"], "conv/forward/fp32/native/direct/a/hot/t8");
  // A row that was wrong with 4 threads stays wrong.
  results[5] = node(5, {threaded("incorrect", 2, 4, "a"), threaded("ok", 4, 1, "b")});
  const json wrong = judge(results, five_percent);
  EXPECT_EQ(find_node(wrong, 5)["verdict"], "INCORRECT");
  EXPECT_EQ(wrong["exit_code"], 3);
  EXPECT_EQ(find_node(wrong, 5)["health"]["findings"][0]["reason"],
            "not comparable: 1 row ran with 1 thread, elsewhere with 8");
  // The fields that accept keeps of a row in memory suffice.
  const Criteria rules = make_criteria(five_percent);
  for (NamedResult& named : results)
    for (Row& kept : named.result.rows) keep_for_acceptance(rules)(kept, "", {});
  EXPECT_EQ(judge(results, five_percent)["nodes"], wrong["nodes"]);
}

TEST(AcceptThreads, ASuiteOfSeveralNumbersOfThreadsIsJudgedByEach) {
  std::vector<NamedResult> results;
  for (int i = 0; i < 4; ++i)
    results.push_back(node(i, {threaded("ok", 2, 1), threaded("ok", 1, 2)}));
  EXPECT_EQ(judge(results, five_percent)["judged"].size(), 2U);
  EXPECT_EQ(judge(results, five_percent)["verdict"], "PASS");
  // One that lacks a number of threads, and has no other, lacks a row.
  results[3] = node(3, {threaded("ok", 2, 1)});
  EXPECT_EQ(find_node(judge(results, five_percent), 3)["verdict"], "MISSING");
  // A number beside those of the others is demanded of all, as every other row.
  results[3] = node(3, {threaded("ok", 2, 1), threaded("ok", 1, 2), threaded("ok", 1, 4)});
  EXPECT_EQ(find_node(judge(results, five_percent), 0)["verdict"], "MISSING");
  // A suite of one thread and of all: the one is compared, the other is not.
  results[3] = node(3, {threaded("ok", 2.6, 1), threaded("ok", 0.5, 4)});
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 3)["verdict"], "NOT-COMPARABLE");
  EXPECT_EQ(find_node(document, 3)["rows"][0]["verdict"], "PERF-FAIL");
  EXPECT_EQ(find_node(document, 0)["verdict"], "PASS");
}

}  // namespace test_accept_environments
}  // namespace assay
