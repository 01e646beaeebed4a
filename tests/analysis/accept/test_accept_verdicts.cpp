// The fleet's verdict, noise that is no failure, and criteria without rows.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "accept/accept_data.hpp"

namespace assay {
namespace test_accept_verdicts {

using nlohmann::json;
using namespace test;

/// Four nodes of which the last is 20 % slow, by several launches.
std::vector<NamedResult> with_a_slow_one(bool disturbed, const json& before = json::object()) {
  std::vector<NamedResult> results;
  for (int i = 0; i < 4; ++i) {
    std::vector<json> rows{row("ok", i == 3 ? 1.2 : 1, 0, {{"threads", "2"}}),
                           row("ok", 2, 0, {{"threads", "4"}})};
    if (disturbed && i == 3) rows[0]["time_s"]["waiting"] = 0.4;
    results.push_back(node(i, rows, i == 3 ? before : json::object()));
  }
  return results;
}

TEST(AcceptVerdict, ASlowRowOfAThrottledDeviceIsNotQuiet) {
  auto results = with_a_slow_one(false);
  EXPECT_EQ(find_node(judge(results, five_percent), 3)["verdict"], "PERF-FAIL");
  RowDeviceState heat;
  heat.seconds = 1;
  heat.throttled_s = {{"heat", 0.2}};
  results[3].result.rows[0].device_state = heat;
  const Criteria rules =
      make_criteria(five_percent);  // fields that accept keeps of a file's rows suffice
  for (Row& kept : results[3].result.rows) keep_for_acceptance(rules)(kept, "", {});
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 3)["verdict"], "NOT-QUIET");
  const std::string reason = find_node(document, 3)["rows"][0]["reason"];
  EXPECT_NE(reason.find("throttled: power or heat"), std::string::npos) << reason;
  const std::string text = rendered(document, false);
  EXPECT_NE(text.find("Throttled rows (\u00b0)"), std::string::npos) << text;
  EXPECT_NE(text.find("\u00b0"), std::string::npos) << text;
  EXPECT_EQ(text.find("Disturbed rows"), std::string::npos) << text;
  // One that is fast enough passes, and is named.
  results = healthy(4);
  results[0].result.rows[0].device_state = heat;
  const json fast = judge(results, five_percent);
  EXPECT_EQ(fast["verdict"], "PASS");
  EXPECT_NE(rendered(fast, false).find("Throttled rows (\u00b0)"), std::string::npos);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST(AcceptVerdict, TheFirstLineIsTheFleetsVerdict) {
  for (const bool markdown : {false, true}) {
    EXPECT_EQ(first_line(rendered(judge(healthy(8), five_percent), markdown)),
              "PASS: 8 nodes by test: 8 PASS.");
    EXPECT_EQ(first_line(rendered(judge(with_a_slow_one(false), five_percent), markdown)),
              "PERF-FAIL: 4 nodes by test: 3 PASS, 1 PERF-FAIL.");
  }
  // All nodes pass, the fleet does not.
  const json document = judge(healthy(4), {{"nodes", 5}});
  EXPECT_EQ(document["verdict"], "MISSING");
  EXPECT_EQ(first_line(rendered(document, false)),
            "MISSING: 4 nodes by test: 4 PASS, 1 criterion of the fleet not met.");
  EXPECT_NE(document["reason"].get<std::string>().find("5 nodes"), std::string::npos);
}

std::size_t count_parts(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(AcceptVerdict, ASmallFleetIsToldOnceWhyAndWhatToDo) {
  for (const int nodes : {1, 2}) {
    const json document = judge(healthy(nodes), five_percent);
    EXPECT_EQ(document["exit_code"], 6);
    const std::string reason = document["reason"];
    EXPECT_TRUE(reason.starts_with(nodes == 1 ? "One node alone has" : "Only 2 nodes have"))
        << reason;
    EXPECT_NE(reason.find("Measure 3 nodes or more"), std::string::npos) << reason;
    EXPECT_NE(reason.find("\"absolute\" limits"), std::string::npos) << reason;
    const std::string text = rendered(document, false);
    EXPECT_EQ(count_parts(text, "Measure 3 nodes or more"), 1U) << text;
    EXPECT_EQ(count_parts(text, "threads=2"), 0U) << "a sentence, not one for each row: " << text;
  }
  EXPECT_EQ(judge(healthy(3), five_percent)["verdict"], "PASS");
}

TEST(AcceptVerdict, TheExitCodeIsNeverMilderThanTheFirstLine) {
  // Each of two nodes is NOT-QUIET by itself, the fleet cannot be judged.
  json criteria = five_percent;
  criteria["health"] = {{{"quantity", "/load/0"}, {"when", "before"}, {"at_most", 0.1}}};
  auto results = healthy(2);
  for (NamedResult& named : results)
    named.result.environments[0].volatile_before = {{"load", {1.79688, 0, 0}}};
  const json document = judge(results, criteria);
  EXPECT_EQ(find_node(document, 0)["verdict"], "NOT-QUIET");
  EXPECT_EQ(document["verdict"], "MISSING");
  EXPECT_EQ(document["exit_code"], 6);
}

TEST(AcceptVerdict, AnAbsoluteLimitIsToldWithItsUnit) {
  const json document = judge(
      healthy(1), {{"absolute", {{{"rows", "."}, {"quantity", "time_s"}, {"at_most", 0.8}}}}});
  EXPECT_NE(find_node(document, 0)["reason"].get<std::string>().find(
                "time_s is 1.00 s, 25 % above the limit of 800 ms"),
            std::string::npos)
      << find_node(document, 0)["reason"];
}

TEST(AcceptVerdict, WhatANodeOfASmallFleetHasByItselfStandsFirst) {
  auto results = healthy(2);
  results[1].result.rows[1] = row("failed", 2, 0, {{"threads", "4"}});
  const json document = judge(results, five_percent);
  EXPECT_NE(find_node(document, 1)["reason"].get<std::string>().find("failed"), std::string::npos);
  EXPECT_NE(rendered(document, false).find("(MISSING)\n  - conv"), std::string::npos);
  // Absolute limits judge any number of nodes.
  const json alone =
      judge(healthy(2), {{"absolute", {{{"rows", "."}, {"quantity", "time_s"}, {"at_most", 9}}}}});
  EXPECT_EQ(alone["verdict"], "PASS");
}

TEST(AcceptVerdict, AnAbsoluteLimitJudgesASmallFleetThatRelativeOnesCannot) {
  json both = five_percent;
  both["absolute"] = {{{"rows", "."}, {"quantity", "time_s"}, {"at_most", 1e-9}}};
  const json document = judge(healthy(2), both);
  for (const std::size_t node : {0, 1}) {
    EXPECT_EQ(find_node(document, node)["rows"][1]["verdict"], "PERF-FAIL");
    EXPECT_EQ(find_node(document, node)["verdict"], "PERF-FAIL");
    EXPECT_NE(find_node(document, node)["reason"].get<std::string>().find("time_s"),
              std::string::npos);
  }
  EXPECT_EQ(document["verdict"], "MISSING") << "the relative criteria have judged nothing";
  const std::string text = rendered(document, false);
  EXPECT_EQ(count_parts(text, "Measure 3 nodes or more"), 1U) << text;
  EXPECT_NE(text.find("(PERF-FAIL)\n  - conv"), std::string::npos) << text;
}

TEST(AcceptVerdict, WhySmallFleetsCannotBeJudgedIsSaidBesideAFailure) {
  auto results = healthy(2);
  results[1].result.rows[1] = row("failed", 2, 0, {{"threads", "4"}});
  const json document = judge(results, five_percent);
  EXPECT_NE(document["reason"].get<std::string>().find("failed"), std::string::npos);
  EXPECT_EQ(count_parts(rendered(document, false), "Measure 3 nodes or more"), 1U);
}

TEST(AcceptVerdict, RunsOfSeveralEnvironmentsAreNotCalledNoResult) {
  auto results = healthy(3);
  NamedResult later = results[0];  // the same node with other software, as of another week
  later.result.run.id = "later";
  later.result.environments[0].hashes.software = "newer";
  results.push_back(later);
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 0)["verdict"], "NOT-COMPARABLE");
  const std::string reason = find_node(document, 0)["rows"][0]["reason"];
  EXPECT_NE(reason.find("ran in 2 environments"), std::string::npos) << reason;
}

TEST(AcceptVerdict, AListedNodeWithoutAResultIsMissing) {
  const std::vector<std::string> listed{host(0), host(1) + ".cluster", host(2), host(3), "gone"};
  const Criteria rules = make_criteria(five_percent);
  const json document = judge_fleet(make_fleet(healthy(4), rules, listed), rules, "assay accept");
  EXPECT_EQ(document["verdict"], "MISSING");
  EXPECT_EQ(document["reason"], "gone: the node has no result");
  const json &gone = document["nodes"][0], &other = document["nodes"][1];
  EXPECT_EQ(gone["node"], "gone");
  EXPECT_EQ(gone["rows"], json::array()) << "one entry, however many rows it lacks";
  EXPECT_EQ(gone["rows_missing"], document["judged"].size());
  ASSERT_EQ(document["judged"].size(), other["rows"].size());
  for (std::size_t i = 0; i < document["judged"].size(); ++i)
    EXPECT_EQ(document["judged"][i]["id"], other["rows"][i]["id"]);
  EXPECT_EQ(document["summary"]["nodes"], 5);
  EXPECT_EQ(document["exit_code"], 6);
  // Criteria that name the nodes have the last word.
  json named = five_percent;
  for (int i = 0; i < 4; ++i) named["nodes"].push_back(host(i));
  EXPECT_EQ(make_fleet(healthy(4), make_criteria(named), listed).nodes.size(), 4U);
}

TEST(AcceptVerdict, ACaseThatNoNodeHadTimeForIsMissing) {
  auto results = healthy(4);
  for (NamedResult& each : results) each.result.run.left_out = {"conv/late"};
  const json document = judge(results, five_percent);
  EXPECT_EQ(document["summary"]["missing"], 4);
  EXPECT_EQ(find_node(document, 0)["reason"], "conv/late: --walltime left no time for it");
  // It is judged on a node that has it from another run.
  json other = test::row("ok", 1, 0, {{"threads", "8"}});
  other["id"] = "conv/late";
  for (int i = 0; i < 4; ++i) {
    results.push_back(node(i, {other}));
    results.back().result.run.id = fmt::format("later-{}", i);
  }
  EXPECT_EQ(judge(results, five_percent)["summary"]["pass"], 4);
}

TEST(AcceptVerdict, ARowThatFewNodesHaveSaysSo) {
  auto results = healthy(4);
  for (const int node : {0, 1}) results[node].result.rows.pop_back();
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 3)["rows"][1]["verdict"], "MISSING");
  const std::string reason = find_node(document, 3)["rows"][1]["reason"];
  EXPECT_NE(reason.find("fewer than 2 other nodes have a time of it: measure it on more nodes"),
            std::string::npos)
      << reason;
}

TEST(AcceptVerdict, TheGravestNodeGivesTheFleetsVerdict) {
  auto results = with_a_slow_one(false);
  results[1].result.rows[1] = row("incorrect", 2, 0, {{"threads", "4"}});
  const json document = judge(results, five_percent);
  EXPECT_EQ(document["verdict"], "INCORRECT");
  EXPECT_NE(document["reason"].get<std::string>().find("n01"), std::string::npos);
  EXPECT_EQ(judge(healthy(4), five_percent)["reason"], nullptr);
}

TEST(AcceptVerdict, ADisturbedRowIsRepeatedAndFailsNoNode) {
  json document = judge(with_a_slow_one(false), five_percent);
  EXPECT_EQ(find_node(document, 3)["verdict"], "PERF-FAIL");
  EXPECT_EQ(document["exit_code"], 4);

  document = judge(with_a_slow_one(true), five_percent);
  EXPECT_EQ(find_node(document, 3)["verdict"], "NOT-QUIET");
  EXPECT_NE(find_node(document, 3)["reason"].get<std::string>().find("disturbed"),
            std::string::npos);
  EXPECT_EQ(document["summary"]["not_quiet"], 1);
  EXPECT_EQ(document["summary"]["perf_fail"], 0);
  EXPECT_EQ(document["exit_code"], 5) << "not accepted, and not refused: repeat it";
  EXPECT_EQ(document["verdict"], "NOT-QUIET");

  // A floor is no other case.
  json floor = {{"absolute", {{{"rows", "."}, {"quantity", "time_s"}, {"at_most", 1.1}}}}};
  floor["rows"] = {{"include", {"/2$"}}};
  document = judge(with_a_slow_one(true), floor);
  EXPECT_EQ(find_node(document, 3)["verdict"], "NOT-QUIET");
  // The noise excuses nothing if an undisturbed row fails too.
  auto results = with_a_slow_one(true);
  results[3].result.rows[1] = row("ok", 2.4, 0, {{"threads", "4"}});
  document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 3)["verdict"], "PERF-FAIL");
  EXPECT_EQ(document["exit_code"], 4);
}

TEST(AcceptVerdict, ADisturbedRowIsNamed) {
  auto results = healthy(4);
  results[2].result.rows[0].time_s->stolen = 0.2;
  const json document = judge(results, five_percent);
  EXPECT_EQ(document["verdict"], "PASS") << "it was fast enough in spite of the noise";
  for (const json& line : find_node(document, 2)["rows"])
    EXPECT_EQ(line["disturbed"], line["id"] == results[2].result.rows[0].id);
  const std::string text = rendered(document, false);
  EXPECT_NE(text.find("Disturbed rows (!)"), std::string::npos) << text;
  EXPECT_NE(text.find("n02: " + results[2].result.rows[0].id), std::string::npos);
  EXPECT_EQ(rendered(judge(healthy(4), five_percent), false).find("Disturbed"), std::string::npos);
}

const json quiet = {
    {"relative", {{{"slower_at_most", 0.05}}}},
    {"health", {{{"quantity", "/load_per_core/0"}, {"when", "before"}, {"at_most", 0.25}}}}};

TEST(AcceptVerdict, LoadIsPerCoreAndANoisyNodeIsRepeated) {
  // 8 cores: a load of 1.6 is 0.2 of each.
  const json calm = {{"load", {1.6, 0, 0}}}, busy = {{"load", {4.0, 0, 0}}};
  auto results = with_a_slow_one(false, calm);
  EXPECT_EQ(find_node(judge(results, quiet), 3)["verdict"], "PERF-FAIL");
  const json document = judge(with_a_slow_one(false, busy), quiet);
  EXPECT_EQ(find_node(document, 3)["verdict"], "NOT-QUIET");
  const std::string reason = find_node(document, 3)["reason"];
  EXPECT_NE(reason.find("load per core (last minute) before the run at most 0.25: found 0.5"),
            std::string::npos)
      << reason;
  EXPECT_EQ(find_node(document, 3)["rows"][0]["verdict"], "NOT-QUIET")
      << "its slow row is no proof";
  EXPECT_EQ(document["exit_code"], 5);
  // A verdict that noise cannot cause stays.
  results = with_a_slow_one(false, busy);
  results[3].result.rows[1] = row("incorrect", 2, 0, {{"threads", "4"}});
  EXPECT_EQ(find_node(judge(results, quiet), 3)["verdict"], "INCORRECT");
  // Without the number of cores nothing is known of it.
  results = with_a_slow_one(false, busy);
  results[3].result.environments[0].hardware.erase("cores");
  EXPECT_EQ(find_node(judge(results, quiet), 3)["health"]["findings"][0]["verdict"], "unknown");
  // The sum over the machine still can be asked for.
  json sum = quiet;
  sum["health"][0] = {{"quantity", "/load/0"}, {"when", "before"}, {"at_most", 3}};
  EXPECT_EQ(find_node(judge(with_a_slow_one(false, busy), sum), 3)["verdict"], "NOT-QUIET");
}

TEST(AcceptVerdict, AQuotaBelowTheProcessorsFails) {
  const json whole = {
      {"relative", {{{"slower_at_most", 0.5}}}},
      {"health", {{{"quantity", "/processor_share"}, {"when", "before"}, {"at_least", 1}}}}};
  const auto verdict = [&](json state) {
    auto results = with_a_slow_one(false, state);
    const json document = find_node(judge(results, whole), 3);
    return document["health"]["findings"][0]["verdict"];
  };
  EXPECT_EQ(verdict({{"processors_allowed", {0, 1}}, {"processor_quota", 0.5}}), "PERF-FAIL");
  EXPECT_EQ(verdict({{"processors_allowed", {0, 1}}, {"processor_quota", 1.5}}), "PERF-FAIL");
  EXPECT_EQ(verdict({{"processors_allowed", {0, 1}}, {"processor_quota", 2.5}}), "PASS");
  EXPECT_EQ(verdict({{"processors_allowed", {0, 1}}, {"processor_quota", nullptr}}), "PASS");
  EXPECT_EQ(verdict({{"processors_allowed", nullptr}, {"processor_quota", nullptr}}), "unknown");
  EXPECT_EQ(verdict({{"load", {1, 1, 1}}}), "unknown");
}

TEST(AcceptVerdict, ACriterionWithoutRowsFailsUnlessItIsOptional) {
  const json wanted[] = {
      {{"absolute", {{{"rows", "gemm"}, {"quantity", "time_s"}, {"at_most", 1}}}}},
      {{"relative", {{{"rows", "gemm"}, {"slower_at_most", 0.05}}}}}};
  for (json criteria : wanted) {
    const std::string key = criteria.begin().key();
    const auto results = healthy(4);
    json document = judge(results, criteria);
    EXPECT_EQ(document["exit_code"], 6) << key;
    EXPECT_EQ(document["verdict"], "MISSING") << key;
    ASSERT_EQ(document["unmet"].size(), 1U) << key;
    criteria[key][0]["optional"] = true;
    document = judge(results, criteria);
    EXPECT_EQ(document["exit_code"], 0) << key;
    ASSERT_EQ(document["optional_unmatched"].size(), 1U) << key;
    EXPECT_NE(rendered(document, false).find("Optional criteria"), std::string::npos) << key;
    // Optional says nothing where rows are there.
    if (key == "absolute") {
      criteria[key][0]["rows"] = "conv";
      EXPECT_EQ(judge(results, criteria)["exit_code"], 4);
    }
  }
}

TEST(AcceptVerdict, EveryRatioIsASpeedup) {
  const json document = judge(with_a_slow_one(false), five_percent);
  const json& slow = find_node(document, 3)["rows"][0];
  EXPECT_NEAR(slow["ratio"].get<double>(), 1.2, 1e-9) << "kept within version 1";
  EXPECT_NEAR(slow["speedup"].get<double>(), 1 / 1.2, 1e-9);
  EXPECT_NEAR(find_node(document, 3)["speedup"].get<double>(),
              1 / find_node(document, 3)["score"].get<double>(), 1e-9);
  const std::string text = rendered(document, false);
  EXPECT_NE(text.find("node over others"), std::string::npos) << text;
  EXPECT_NE(text.find("speedup: node over the median of the other nodes, above 1 node is faster"),
            std::string::npos)
      << text;
  EXPECT_NE(slow["reason"].get<std::string>().find("0.833"), std::string::npos) << slow["reason"];
  EXPECT_EQ(text.find("above 1: slower"), std::string::npos);
}

TEST(AcceptVerdict, ASpeedupOfDisturbedRowsIsMarked) {
  const auto speedups = [](bool disturbed) {
    const std::string text = rendered(judge(with_a_slow_one(disturbed), five_percent), false);
    int marked = 0;
    // 1 / sqrt(1.2): the median of two ratios is their geometric mean.
    for (std::size_t at = 0; (at = text.find(" 0.913!", at)) != std::string::npos; ++at) ++marked;
    return marked;
  };
  EXPECT_EQ(speedups(true), 1);
  EXPECT_EQ(speedups(false), 0);
}

}  // namespace test_accept_verdicts
}  // namespace assay
