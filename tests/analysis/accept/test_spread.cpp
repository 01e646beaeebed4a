#include "analysis/accept/spread.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "tests/analysis/accept/accept_data.hpp"

namespace assay::test_spread {

using nlohmann::json;
using test::find_node;
using test::judge;

/// A node with three rows, each as slow as `factor` and its own noise say.
NamedResult noisy_node(int number, double factor, double noise, std::mt19937_64& random,
                       bool shared = false) {
  std::normal_distribution<double> normal(0, noise);
  std::vector<json> rows;
  for (const char* threads : {"1", "2", "4"}) {
    rows.push_back(test::row("ok", factor * std::exp(normal(random)), 0, {{"threads", threads}}));
    if (shared) rows.back()["time_s"]["stolen"] = 0.2;
  }
  return test::node(number, std::move(rows));
}

/// A fleet whose first node is so much slower.
std::vector<NamedResult> fleet(int nodes, double slower, double noise, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<NamedResult> all;
  for (int i = 0; i < nodes; ++i)
    all.push_back(noisy_node(i, i == 0 ? 1 + slower : 1, noise, random));
  return all;
}

json criteria(json rule = json::object()) { return {{"spread", {std::move(rule)}}}; }

TEST(SpreadFactor, IsExceededInThatPartOfHealthyFleets) {
  std::mt19937_64 random(77);
  std::normal_distribution<double> normal;
  for (const std::size_t nodes : {8U, 64U, 300U}) {
    int alarms = 0;
    constexpr int fleets = 4000;
    for (int i = 0; i < fleets; ++i) {
      std::vector<double> times(nodes), ratios;
      for (double& time : times) time = std::exp(0.01 * normal(random));
      for (const Standing& of : standings(times)) ratios.push_back(*of.others);
      for (std::size_t k = 0; k < nodes; ++k) ratios[k] = times[k] / ratios[k];
      const FleetSpread found = fleet_spread(ratios);
      const double slowest = std::log(*std::ranges::max_element(ratios));
      alarms += slowest > found.centre + spread_factor(nodes, 0.05) * found.spread ? 1 : 0;
    }
    EXPECT_NEAR(alarms, 0.05 * fleets, 4 * std::sqrt(0.05 * fleets)) << nodes;
  }
}

TEST(SpreadFactor, IsLargerOfFewNodesAndOfFewAlarms) {
  EXPECT_GT(spread_factor(8, 0.01), spread_factor(64, 0.01));
  EXPECT_GT(spread_factor(64, 0.01), spread_factor(64, 0.1));
  EXPECT_THROW(spread_factor(7, 0.01), std::logic_error);
  EXPECT_THROW(spread_factor(64, 0), std::logic_error);
}

TEST(FleetSpread, IsNotThatOfAMinority) {
  std::vector<double> ratios{0.98, 0.99, 1, 1, 1.01, 1.02, 5, 7, 9};
  EXPECT_NEAR(fleet_spread(ratios).centre, std::log(1.01), 1e-12);
  EXPECT_LT(fleet_spread(ratios).spread, 0.04);
}

TEST(Spread, FindsTheSlowNodeAlone) {
  const json document = judge(fleet(16, 0.06, 0.004), criteria());
  EXPECT_EQ(find_node(document, 0)["verdict"], "PERF-FAIL");
  EXPECT_EQ(document["summary"]["pass"], 15);
  EXPECT_NE(find_node(document, 0)["reason"].get<std::string>().find("16 nodes spread by 0."),
            std::string::npos);
  EXPECT_EQ(document["limits"].back()["met"], 15);
  EXPECT_EQ(document["limits"].back()["of"], "node");
}

TEST(Spread, OfAWideFleetExplainsTheSameSlowness) {
  EXPECT_EQ(judge(fleet(16, 0.06, 0.08), criteria())["verdict"], "PASS");
}

TEST(Spread, SmallerThanWhatMattersNeverFails) {
  EXPECT_EQ(judge(fleet(16, 0.006, 1e-4), criteria())["verdict"], "PASS");
  EXPECT_EQ(judge(fleet(16, 0.006, 1e-4), criteria({{"slower_at_least", 0.001}}))["verdict"],
            "PERF-FAIL");
}

TEST(Spread, IsLimitedItself) {
  const json document = judge(fleet(16, 0, 0.05), criteria({{"spread_at_most", 0.01}}));
  EXPECT_EQ(document["verdict"], "PERF-FAIL");
  EXPECT_EQ(document["summary"]["pass"], 16);
  EXPECT_NE(document["unmet"][0]["reason"].get<std::string>().find("above the limit of 1 %"),
            std::string::npos)
      << document["unmet"];
}

TEST(Spread, OfFewNodesIsNotJudged) {
  const json document = judge(fleet(7, 0, 0.01), criteria());
  EXPECT_EQ(document["verdict"], "MISSING");
  EXPECT_NE(document["reason"].get<std::string>().find("7 comparable nodes with times are too few"),
            std::string::npos);
  EXPECT_EQ(judge(fleet(7, 0, 0.01), criteria({{"optional", true}}))["verdict"], "PASS");
  EXPECT_EQ(judge(fleet(9, 0, 0.01), criteria({{"rows", "absent"}}))["verdict"], "MISSING");
}

TEST(Spread, OfASharedNodeIsMeasuredAgain) {
  std::mt19937_64 random(3);
  std::vector<NamedResult> nodes{noisy_node(0, 1.06, 0.002, random, true)};
  for (int i = 1; i < 12; ++i) nodes.push_back(noisy_node(i, 1, 0.002, random));
  EXPECT_EQ(judge(nodes, criteria())["verdict"], "NOT-QUIET");
}

}  // namespace assay::test_spread
