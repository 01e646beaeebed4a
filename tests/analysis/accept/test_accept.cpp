#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

#include "accept/accept_data.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_accept {

using nlohmann::json;
using namespace test;

TEST(Accept, AHealthyFleetPasses) {
  const json document = judge(healthy(8), five_percent);
  EXPECT_EQ(document["exit_code"], 0);
  EXPECT_EQ(document["summary"]["pass"], 8);
  EXPECT_EQ(document["stragglers"].size(), 8U);
}

TEST(Accept, SlowWrongAndMissing) {
  auto results = healthy(64);
  results[17] = node(17, {test::row("ok", 1.08, 0, {{"threads", "2"}}),
                          test::row("ok", 2.16, 0, {{"threads", "4"}})});
  results[30] = node(30, {test::row("ok", 1, 0, {{"threads", "2"}}),
                          test::row("incorrect", 2, 0, {{"threads", "4"}})});
  results[40] = node(40, {test::row("ok", 1, 0, {{"threads", "2"}})});
  results.erase(results.begin() + 50);
  json criteria = five_percent;
  for (int i = 0; i < 64; ++i) criteria["nodes"].push_back(host(i));
  const json document = judge(results, criteria);
  EXPECT_EQ(find_node(document, 17)["verdict"], "PERF-FAIL");
  EXPECT_EQ(find_node(document, 30)["verdict"], "INCORRECT");
  EXPECT_EQ(find_node(document, 40)["verdict"], "MISSING");
  EXPECT_EQ(find_node(document, 50)["verdict"], "MISSING");
  EXPECT_EQ(document["summary"], json({{"nodes", 64},
                                       {"pass", 60},
                                       {"not_quiet", 0},
                                       {"perf_fail", 1},
                                       {"incorrect", 1},
                                       {"not_comparable", 0},
                                       {"missing", 2}}));
  EXPECT_EQ(document["stragglers"][0]["node"], host(17));
  EXPECT_NEAR(document["stragglers"][0]["score"].get<double>(), 1.08, 0.01);
  EXPECT_EQ(document["exit_code"], 3);
  EXPECT_TRUE(find_node(document, 30)["rows"][1]["value"].is_null())
      << "a wrong number is no number";
}

/// Fleets of numbers alone, as make_fleet would make them.
json simulated(std::mt19937_64& random, double spread, double slow) {
  std::normal_distribution<> normal;
  Fleet fleet;
  for (int r = 0; r < 10; ++r) fleet.ids.push_back(fmt::format("row{}", r));
  for (int n = 0; n < 64; ++n) {
    Node& node = fleet.nodes.emplace_back();
    node.name = host(n);
    const double own = spread * normal(random);
    for (const std::string& id : fleet.ids) {
      std::vector<double> launches;
      for (int l = 0; l < 5; ++l)
        launches.push_back(std::exp(own + 0.01 * normal(random)) * (n == 17 ? slow : 1));
      NodeRow& row = node.rows[id];
      row.status = "ok";
      row.value = median(launches);
      row.low = compute_median_interval(launches).low;
      row.high = compute_median_interval(launches).high;
    }
  }
  static const Criteria rules = make_criteria(five_percent);
  return judge_fleet(fleet, rules, "");
}

TEST(Accept, RatesOfFalseAndTrueAlarms) {
  constexpr int fleets = 60;
  for (const auto& [spread, most] : {std::pair{0.01, 0}, {0.015, 20}}) {
    std::mt19937_64 random(1);
    int false_alarms = 0;
    for (int i = 0; i < fleets; ++i)
      false_alarms += simulated(random, spread, 1)["summary"]["perf_fail"] != 0;
    std::cout << "spread " << spread << ": " << false_alarms << " of " << fleets
              << " healthy fleets with a PERF-FAIL\n";
    EXPECT_LE(false_alarms, most);
  }
  std::mt19937_64 random(2);
  int failed = 0, first = 0;
  for (int i = 0; i < fleets; ++i) {
    const json document = simulated(random, 0.01, 1.08);
    failed += find_node(document, 17)["verdict"] == "PERF-FAIL";
    first += document["stragglers"][0]["node"] == host(17);
  }
  std::cout << "8 % slow: found in " << failed << ", ranked first in " << first << " of " << fleets
            << "\n";
  EXPECT_GE(failed, 0.97 * fleets);
  EXPECT_GE(first, 0.97 * fleets);
}

TEST(Accept, NoNodeHidesInItsOwnReference) {
  // Two of five are slow: the others' median stays that of the fast ones.
  std::vector<NamedResult> results;
  for (int i = 0; i < 5; ++i) results.push_back(node(i, {test::row("ok", i < 2 ? 1.5 : 1)}));
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 0)["verdict"], "PERF-FAIL");
  EXPECT_EQ(find_node(document, 1)["verdict"], "PERF-FAIL");
  EXPECT_EQ(find_node(document, 2)["verdict"], "PASS");
  EXPECT_EQ(document["exit_code"], 4);
}

TEST(Accept, TheLaunchesErrorCountsForTheNode) {
  auto results = healthy(5);
  std::vector<json> rows;
  for (int launch = 0; launch < 3; ++launch)
    rows.push_back(test::row("ok", std::vector{1.0, 1.1, 1.2}[static_cast<std::size_t>(launch)],
                             launch, {{"threads", "2"}}));
  rows.push_back(test::row("ok", 2, 0, {{"threads", "4"}}));
  results[0] = node(0, rows);
  // 1.1 of the others, but one of three launches was as theirs: not surely slow, and no pass.
  const json undecided = find_node(judge(results, five_percent), 0);
  EXPECT_EQ(undecided["verdict"], "MISSING");
  EXPECT_NE(undecided["reason"].get<std::string>().find("undecided"), std::string::npos);
  rows[0] = test::row("ok", 1.01, 0, {{"threads", "2"}});
  results[0] = node(0, rows);
  EXPECT_EQ(find_node(judge(results, five_percent), 0)["verdict"], "PERF-FAIL");
  rows[0] = test::row("ok", 1.07, 0, {{"threads", "2"}});
  results[0] = node(0, rows);
  EXPECT_EQ(find_node(judge(results, five_percent), 0)["verdict"], "PERF-FAIL");
}

TEST(Accept, WhatCannotBeJudgedDoesNotPass) {
  // Two nodes: nobody can say which is the odd one.
  EXPECT_EQ(judge(healthy(2), five_percent)["exit_code"], 6);
  // No ceiling, no such rate, no such row.
  for (const json& rule :
       {json{{"rows", "conv"}, {"quantity", "ceiling_fraction"}, {"at_least", 0.5}},
        json{{"rows", "conv"}, {"quantity", "images_per_s"}, {"at_least", 1}}}) {
    const json document = judge(healthy(4), {{"absolute", {rule}}});
    EXPECT_EQ(document["exit_code"], 6);
    EXPECT_EQ(document["summary"]["missing"], 4);
  }
  const json none = judge(
      healthy(4), {{"absolute", {{{"rows", "gemm"}, {"quantity", "time_s"}, {"at_most", 1}}}}});
  EXPECT_EQ(none["unmet"].size(), 1U);
  EXPECT_EQ(none["exit_code"], 6);
  EXPECT_EQ(judge(healthy(4), {{"rows", {{"include", {"gemm"}}}}})["exit_code"], 6);
  EXPECT_EQ(judge(healthy(4), {{"nodes", 5}})["exit_code"], 6);
  EXPECT_EQ(judge(healthy(4), {{"nodes", 4}})["exit_code"], 0);
}

TEST(Accept, AbsoluteFloors) {
  const auto code = [](const json& rule) {
    return judge(healthy(4), {{"absolute", {rule}}})["exit_code"].get<int>();
  };
  EXPECT_EQ(code({{"rows", "."}, {"quantity", "time_s"}, {"at_most", 2.1}}), 0);
  EXPECT_EQ(code({{"rows", "."}, {"quantity", "time_s"}, {"at_most", 1.9}}), 4);
  EXPECT_EQ(code({{"rows", "."}, {"quantity", "flops_per_s"}, {"at_least", 4e8}}), 0);
  EXPECT_EQ(code({{"rows", "."}, {"quantity", "flops_per_s"}, {"at_least", 6e8}}), 4);
}

TEST(Accept, FailedAndUnsupportedRows) {
  auto results = healthy(4);
  results[1] = node(1, {test::row("ok", 1, 0, {{"threads", "2"}}),
                        test::row("failed", 0, 0, {{"threads", "4"}})});
  EXPECT_EQ(judge(results, five_percent)["exit_code"], 7);
  results[1] = node(1, {test::row("ok", 1, 0, {{"threads", "2"}}),
                        test::row("unsupported", 0, 0, {{"threads", "4"}})});
  EXPECT_EQ(judge(results, five_percent)["exit_code"], 6);
  // Nowhere supported and not demanded: no finding, but told.
  for (int i = 0; i < 4; ++i)
    results[static_cast<std::size_t>(i)] =
        node(i, {test::row("ok", 1, 0, {{"threads", "2"}}),
                 test::row("unsupported", 0, 0, {{"threads", "4"}})});
  const json document = judge(results, five_percent);
  EXPECT_EQ(document["exit_code"], 0);
  EXPECT_EQ(document["not_judged"].size(), 1U);
}

TEST(Accept, Health) {
  const json criteria = {
      {"health",
       {{{"quantity", "/throttle_events"}, {"grows_at_most", 0}},
        {{"quantity", "/load/0"}, {"when", "before"}, {"at_most", 1}},
        {{"quantity", "/memory_available_bytes"}, {"when", "after"}, {"at_least", 1e9}}}}};
  const json good = {
      {"throttle_events", 3}, {"load", {0.5, 0, 0}}, {"memory_available_bytes", 2e9}};
  json hot = good, busy = good, full = good;
  hot["throttle_events"] = 4;
  busy["load"][0] = 2;
  full["memory_available_bytes"] = 1e8;
  const json rows = test::row("ok", 1);
  json document =
      judge({node(0, {rows}, good, good), node(1, {rows}, good, hot), node(2, {rows}, busy, good),
             node(3, {rows}, good, full), node(4, {rows}, good, busy), node(5, {rows}, good)},
            criteria);
  for (const auto& [number, verdict] : {std::pair{0, "PASS"},
                                        {1, "PERF-FAIL"},
                                        {2, "NOT-QUIET"},
                                        {3, "PERF-FAIL"},
                                        {4, "PASS"},
                                        {5, "PASS"}})
    EXPECT_EQ(find_node(document, number)["verdict"], verdict) << number;
  // Node 5 died before it told its state: unknown is said, and fails only where it is required.
  EXPECT_EQ(find_node(document, 5)["health"]["findings"][0]["verdict"], "unknown");
  EXPECT_EQ(document["exit_code"], 4);
  json strict = criteria;
  strict["health"][0]["required"] = true;
  document = judge({node(0, {rows}, good, good), node(5, {rows}, good)}, strict);
  EXPECT_EQ(find_node(document, 5)["verdict"], "MISSING");
  EXPECT_EQ(document["exit_code"], 6);
}

TEST(Accept, AnotherHardwareIsNotComparable) {
  auto results = healthy(4);
  results.push_back(node(
      4, {test::row("ok", 1, 0, {{"threads", "2"}}), test::row("ok", 2, 0, {{"threads", "4"}})},
      json::object(), nullptr, "half the memory"));
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 4)["verdict"], "NOT-COMPARABLE");
  EXPECT_NE(find_node(document, 4)["reason"].get<std::string>().find("half the memory"),
            std::string::npos);
  EXPECT_EQ(document["summary"]["pass"], 4);
}

TEST(Accept, ANodeHasTheSoftwareOfEverySuiteItRan) {
  // A suite's processes load other plugins than another's: two hashes a node, on all nodes alike.
  const auto with_two = [](int number, const char* second) {
    NamedResult results = node(number, {test::row("ok", 1, 0, {{"threads", "2"}}),
                                        test::row("ok", 2, 0, {{"threads", "4"}})});
    ResultEnvironment other = results.result.environments[0];
    other.hashes.software = second;
    other.software["libraries"] = {{second, "1"}};
    results.result.environments.push_back(other);
    results.result.rows[1].environment = 1;
    return results;
  };
  std::vector<NamedResult> results;
  for (int i = 0; i < 5; ++i) results.push_back(with_two(i, "reference"));
  EXPECT_EQ(judge(results, five_percent)["summary"]["pass"], 5);
  results[4] = with_two(4, "another");
  const json document = judge(results, five_percent);
  EXPECT_EQ(find_node(document, 4)["verdict"], "NOT-COMPARABLE");
  EXPECT_NE(find_node(document, 4)["reason"].get<std::string>().find("not comparable"),
            std::string::npos);
  EXPECT_EQ(document["summary"]["pass"], 4);
}

TEST(Accept, AJobOfSeveralNodesIsOfNone) {
  const auto fleet_with = [](const char* status) {
    auto results = healthy(5);
    json job = test::row(status, 1e-3, 0, {{"threads", "64"}});
    job["parameters"]["nodes"] = 5;
    results[2].result.rows.push_back(job);
    return results;
  };
  json document = judge(fleet_with("ok"), five_percent);
  EXPECT_EQ(document["exit_code"], 0) << "no node lacks what all ran together";
  EXPECT_EQ(document["summary"]["pass"], 5);
  ASSERT_EQ(document["not_judged"].size(), 1U);
  EXPECT_NE(document["not_judged"][0]["reason"].get<std::string>().find("several nodes"),
            std::string::npos);
  // A floor that was promised for it counts.
  json criteria = five_percent;
  criteria["absolute"] = {{{"rows", "/64"}, {"quantity", "time_s"}, {"at_most", 2e-3}}};
  document = judge(fleet_with("ok"), criteria);
  EXPECT_EQ(document["exit_code"], 0);
  EXPECT_TRUE(document["not_judged"].empty());
  criteria["absolute"][0]["at_most"] = 5e-4;
  document = judge(fleet_with("ok"), criteria);
  EXPECT_EQ(document["exit_code"], 4);
  EXPECT_EQ(document["unmet"].size(), 1U);
  EXPECT_EQ(document["summary"]["pass"], 5);
  // A wrong one is not passed over either.
  for (const auto& [status, code] :
       {std::pair{"incorrect", 3}, {"failed", 7}, {"unsupported", 0}}) {
    document = judge(fleet_with(status), five_percent);
    EXPECT_EQ(document["exit_code"], code) << status;
    EXPECT_EQ(document["summary"]["pass"], 5) << status;
  }
}

TEST(Accept, UnexpectedNodesAreToldAndNotJudged) {
  json criteria = five_percent;
  criteria["nodes"] = {host(0), host(1), host(2)};
  const json document = judge(healthy(4), criteria);
  EXPECT_EQ(document["unexpected"], json({host(3)}));
  EXPECT_EQ(document["nodes"].size(), 3U);
  EXPECT_EQ(document["unmet"].size(), 1U);
  EXPECT_EQ(document["exit_code"], 6) << "what was not judged was not accepted";
}

TEST(Accept, ARunGivenTwiceIsRefused) {
  auto results = healthy(3);
  results.push_back(results.front());
  EXPECT_THROW(judge(results, five_percent), InputError);
}

TEST(Accept, BadCriteria) {
  for (const json& wrong :
       {json{{"relative", {{{"rows", "("}, {"slower_at_most", 0.1}}}}},
        json{{"relative", {json::object()}}},
        json{{"absolute", {{{"rows", "x"}, {"quantity", "time_s"}}}}}, json{{"nodes", 0}},
        json{{"nodes", "all"}}, json{{"health", {{{"quantity", "/a~3"}, {"at_most", 1}}}}},
        json{{"limits", 1}}})
    EXPECT_THROW(make_criteria(wrong), InputError) << wrong;
  try {
    make_criteria({{"nodes", {"a", "b", "a"}}});
    ADD_FAILURE() << "a node twice";
  } catch (const InputError& error) {
    EXPECT_NE(
        std::string(error.what())
            .find(" at /nodes/2: found \"a\" again (it is at /nodes/0), expected each name once."),
        std::string::npos)
        << error.what();
  }
}

}  // namespace test_accept
}  // namespace assay
