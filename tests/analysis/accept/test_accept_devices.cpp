// Limits of what the devices of nodes tell of their errors and links.

#include <gtest/gtest.h>

#include "accept/accept_data.hpp"

namespace assay {
namespace test_accept_devices {

using nlohmann::json;
using namespace test;

json criteria(const char* quantity, const char* bound, double limit, bool optional = false) {
  return {{"devices", {{{"quantity", quantity}, {bound, limit}, {"optional", optional}}}}};
}

/// Three nodes with a GPU each; that of the last is `other`.
std::vector<NamedResult> fleet(const RowDeviceHealth& other) {
  RowDeviceHealth good{"GPU 0"};
  good.values = {{"pcie_width", 16}};
  good.errors = {{"ecc uncorrected dram", 0}};
  good.corrected = {{"ecc corrected dram", 3}, {"pcie replays", 1}};
  good.corrected_meanwhile = {{"ecc corrected dram", 1}};
  std::vector<NamedResult> results = healthy(3);
  for (std::size_t i = 0; i < 3; ++i)
    for (Row& row : results[i].result.rows) row.device_health = {i == 2 ? other : good};
  return results;
}

std::string verdict(const RowDeviceHealth& other, const json& limits) {
  std::vector<NamedResult> results = fleet(other);
  const Criteria rules = make_criteria(limits);
  // The fields that accept keeps of a file's rows suffice.
  for (NamedResult& named : results)
    for (Row& row : named.result.rows) keep_for_acceptance(rules)(row, "", {});
  const json document = judge(results, limits);
  EXPECT_EQ(find_node(document, 0)["verdict"], "PASS");
  const json& node = find_node(document, 2);
  const std::string verdict = node["verdict"];
  return node["reason"].is_string() ? verdict + ": " + node["reason"].get<std::string>() : verdict;
}

TEST(AcceptDevices, ALinkOfHalfWidthFailsItsNode) {
  RowDeviceHealth half{"GPU 0"};
  half.values = {{"pcie_width", 8}};
  EXPECT_EQ(verdict(half, criteria("pcie_width", "at_least", 16)),
            "PERF-FAIL: pcie_width of each device at least 16: GPU 0: found 8");
}

TEST(AcceptDevices, OneOfTheDevicesOfARowIsEnoughToFail) {
  std::vector<NamedResult> results = fleet({"GPU 0", "", {{"pcie_width", 16}}});
  RowDeviceHealth half{"GPU 1"};
  half.values = {{"pcie_width", 8}};
  results[1].result.rows[0].device_health.push_back(half);
  const json document = judge(results, criteria("pcie_width", "at_least", 16));
  EXPECT_EQ(find_node(document, 1)["reason"],
            "pcie_width of each device at least 16: GPU 1: found 8");
}

TEST(AcceptDevices, SumsOfCountersHaveLimits) {
  RowDeviceHealth bad{"GPU 0"};
  bad.errors = {{"ecc uncorrected dram", 1}, {"xid 48", 2}};
  bad.corrected = {{"ecc corrected dram", 500}};
  bad.corrected_meanwhile = {{"ecc corrected dram", 20}};
  EXPECT_NE(verdict(bad, criteria("errors", "at_most", 0)).find("found 3"), std::string::npos);
  EXPECT_NE(verdict(bad, criteria("corrected", "at_most", 100)).find("found 500"),
            std::string::npos);
  EXPECT_NE(verdict(bad, criteria("corrected_meanwhile", "at_most", 5)).find("found 20"),
            std::string::npos);
  EXPECT_NE(verdict(bad, criteria("ecc corrected dram", "at_most", 100)).find("found 500"),
            std::string::npos);
}

TEST(AcceptDevices, WhatIsNotToldIsMissingAndNeverPassed) {
  EXPECT_EQ(verdict({"GPU 0"}, criteria("errors", "at_most", 0)),
            "MISSING: errors of each device at most 0: GPU 0 does not tell it");
  EXPECT_EQ(verdict({"GPU 0"}, criteria("errors", "at_most", 0, true)).substr(0, 4), "PASS");
  EXPECT_EQ(judge(healthy(3), criteria("errors", "at_most", 0))["verdict"], "MISSING");
  EXPECT_EQ(judge(healthy(3), criteria("errors", "at_most", 0, true))["verdict"], "PASS");
}

}  // namespace test_accept_devices
}  // namespace assay
