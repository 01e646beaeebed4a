// Names in criteria: quantities of the state of a node, and nodes.
#include "accept_data.hpp"
#include "core/base/error.hpp"

namespace assay {
namespace test_accept_names {

using nlohmann::json;
using test::find_node;
using test::healthy;
using test::judge;

std::vector<NamedResult> in_state(const json& state) {
  auto results = healthy(3);
  for (NamedResult& named : results) named.result.environments[0].volatile_before = state;
  return results;
}

json limited(const std::string& quantity, double at_least = 0) {
  return {{"health", {{{"quantity", quantity}, {"when", "before"}, {"at_least", at_least}}}}};
}

const json state = {{"clock_hz", {{"min", 1e9}, {"median", 2e9}, {"source", "cpufreq"}}},
                    {"load", {0.1, 0.1, 0.1}},
                    {"turbo", true},
                    {"governors", nullptr},
                    {"microcode", "0x1"}};

TEST(AcceptNames, AQuantityThatNamesNothingIsAnError) {
  for (const char* wrong : {"/clock_hz/medain", "/clock_hz", "/load/3", "/load/x", "/load",
                            "/microcode", "/temprature_celsius"}) {
    json criteria = limited(wrong);
    EXPECT_THROW(judge(in_state(state), criteria), InputError) << wrong;
    // Optional is what is not there, not what has no limits.
    criteria["health"][0]["optional"] = true;
    const bool there = std::string(wrong) == "/clock_hz" || std::string(wrong) == "/load" ||
                       std::string(wrong) == "/microcode";
    if (there)
      EXPECT_THROW(judge(in_state(state), criteria), InputError) << wrong;
    else
      EXPECT_EQ(judge(in_state(state), criteria)["optional_unmatched"].size(), 1U) << wrong;
  }
  try {
    judge(in_state(state), limited("/clock_hz/medain"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean '/clock_hz/median'?"), std::string::npos)
        << error.what();
  }
}

TEST(AcceptNames, WhatAMachineDoesNotReportIsNoWrongName) {
  // The field is null, a part of null, and in a file of a version that had no such name.
  for (const char* unknown : {"/governors", "/governors/0", "/steal_s"}) {
    const json document = judge(in_state(state), limited(unknown));
    EXPECT_EQ(document["exit_code"], 0) << unknown;
    EXPECT_EQ(find_node(document, 0)["health"]["findings"][0]["verdict"], "unknown") << unknown;
  }
}

TEST(AcceptNames, ABooleanCountsAsZeroOrOne) {
  EXPECT_EQ(judge(in_state(state), limited("/turbo", 1))["verdict"], "PASS");
  json off = state;
  off["turbo"] = false;
  EXPECT_EQ(judge(in_state(off), limited("/turbo", 1))["verdict"], "PERF-FAIL");
}

/// Fleets whose hosts have a domain, `criteria` with these nodes.
json judge_full_names(const json& nodes, const std::vector<std::string>& hosts) {
  auto results = healthy(static_cast<int>(hosts.size()));
  for (std::size_t i = 0; i < hosts.size(); ++i) results[i].result.environments[0].host = hosts[i];
  json criteria = test::five_percent;
  criteria["nodes"] = nodes;
  return judge(results, criteria);
}

TEST(AcceptNames, ShortNamesOfNodesMatchFullOnes) {
  const json brief = {"n0", "n1", "n2"}, full = {"n0.a", "n1.a", "n2.a"};
  for (const auto& [nodes, hosts] : {std::pair{brief, full}, {full, brief}, {full, full}}) {
    const json document = judge_full_names(nodes, hosts);
    EXPECT_EQ(document["verdict"], "PASS") << nodes << hosts;
    EXPECT_TRUE(document["unexpected"].empty());
    EXPECT_EQ(document["nodes"].size(), 3U);
    EXPECT_EQ(document["nodes"][0]["node"], nodes[0]);
  }
  // Another domain is another host, and no short name may stand for two.
  EXPECT_EQ(judge_full_names(full, {"n0.a", "n1.a", "n2.b"})["verdict"], "MISSING");
  EXPECT_THROW(judge_full_names(brief, {"n0.a", "n0.b", "n1.a", "n2.a"}), InputError);
  EXPECT_THROW(judge_full_names({"n0.a", "n0.b", "n1.a"}, {"n0", "n1.a"}), InputError);
  EXPECT_EQ(judge_full_names("seen", {"n0.a", "n0.b", "n1.a"})["nodes"].size(), 3U);
}

TEST(AcceptNames, ATargetMissedIsNoWrongResult) {
  auto results = healthy(4);
  results[1].result.rows[1].status = "target missed";
  results[1].result.rows[1].reason = "validation reached 0.3";
  const json document = judge(results, test::five_percent);
  EXPECT_EQ(find_node(document, 1)["verdict"], "MISSING");
  EXPECT_EQ(document["exit_code"], 9);
}

}  // namespace test_accept_names
}  // namespace assay
