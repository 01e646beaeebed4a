#include "analysis/scaling/way_cost.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.hpp"

namespace assay::scaling {
namespace test_way_cost {

const Network flat{{{"all", 0, 0.01, 0.001}}};                             // alpha 0.01, beta 0.001
const Network nodes{{{"node", 4, 0.01, 0.001}, {"nodes", 0, 0.1, 0.01}}};  // a tenth as fast
const RankWork work{{1, 2, 0}, 4, 120};  // 3 s, 4 images, 120 B of gradients

/// Sums take 1 s, and 10 s more for each rank of a node.
Result<double> sum_of(int, const Network& network, double) {
  return 1.0 + 10 * network.levels.front().ranks;
}

WayTime time_of(const WayInput& input, int ranks, const Network& network = flat) {
  const auto found = way_time(input, ranks, network, work, sum_of);
  if (const auto* refusal = std::get_if<Unsupported>(&found)) throw CaseError(refusal->reason);
  return std::get<WayTime>(found);
}

std::string refusal_of(const WayInput& input, int ranks, const Network& network = flat) {
  const auto found = way_time(input, ranks, network, work, sum_of);
  const auto* refusal = std::get_if<Unsupported>(&found);
  return refusal == nullptr ? "" : refusal->reason;
}

TEST(WayTime, OfStaleRanksHidesItsMessages) {
  // 2 * 3 messages of 30 B each: 6 * (0.01 + 0.03).
  const WayTime few = time_of({"stale:1"}, 4);
  EXPECT_NEAR(few.communication, 0.24, 1e-12);
  EXPECT_EQ(few.seconds, 3);
  EXPECT_EQ(few.computing, 4);
  // 2 * 399 messages of 0.3 B each.
  EXPECT_NEAR(time_of({"async"}, 400).seconds, 798 * (0.01 + 0.0003), 1e-9);
}

TEST(WayTime, OfStaleRanksKnowsPortsOfNodes) {
  // 4 ranks of a node send 2 * 15 B to each of 4 others: 480 B through a port of 0.01 s/B, which
  // takes longer than the messages of one rank.
  const double ports = 4 * 4 * 2 * 15 * 0.01;
  EXPECT_NEAR(time_of({"async"}, 8, nodes).seconds, ports, 1e-9);
}

TEST(WayTime, OfServersWaitsForThem) {
  // Two servers have 60 B each, a message takes 0.07 s. A worker has four of them.
  const WayTime few = time_of({"server:2"}, 4);
  EXPECT_NEAR(few.seconds, 3 + 4 * 0.07, 1e-12);
  EXPECT_EQ(few.computing, 2);
  // With 98 workers a server handles 196 messages.
  EXPECT_NEAR(time_of({"server:2"}, 100).seconds, 196 * 0.07, 1e-9);
  EXPECT_NE(refusal_of({"server:4"}, 4), "");
}

TEST(WayTime, OfPipelinesHasABubble) {
  WayInput input{"pipeline:4", 8, {}, 10};
  // 11 passes of 3/8 s; 6 messages of 2 images: 0.01 + 0.02; no other rank has these layers.
  EXPECT_NEAR(time_of(input, 4).seconds, 11 * 3.0 / 8 + 6 * 0.03, 1e-12);
  EXPECT_NEAR(time_of(input, 8).seconds, 11 * 3.0 / 8 + 6 * 0.03 + 1, 1e-12) << "and a sum";
  // Pipelines of a node each: sums are between nodes.
  EXPECT_NEAR(time_of(input, 8, nodes).seconds, 11 * 3.0 / 8 + 6 * 0.03 + 1, 1e-12);
  // Two of them in a node.
  EXPECT_NEAR(time_of({"pipeline:2", 8, {}, 10}, 8, nodes).seconds, 9 * 3.0 / 8 + 2 * 0.02 + 1 + 20,
              1e-12);
  EXPECT_NE(refusal_of(input, 6), "");
  EXPECT_NE(refusal_of({"pipeline:3", 8, {}, 10}, 6, nodes), "") << "no whole groups of a node";
  EXPECT_NE(refusal_of({"pipeline:4", 17, {}, 10}, 4), "") << "passes without images";
}

TEST(WayTime, OfPipelinesSharesThePortsOfNodes) {
  double inside = 0, outside = 0, links = 0;
  const auto seen = [&](int, const Network& network, double) -> Result<double> {
    inside = network.levels[0].beta;
    if (network.levels.size() > 1)
      outside = network.levels[1].beta, links = network.levels[1].links;
    return 0.0;
  };
  // Four parts are summed at once, through one port.
  (void)way_time({"pipeline:4", 8, {}, 10}, 8, nodes, work, seen);
  EXPECT_DOUBLE_EQ(inside, 0.04);
  // Two parts, of two ranks of a node each.
  (void)way_time({"pipeline:2", 8, {}, 10}, 8, nodes, work, seen);
  EXPECT_DOUBLE_EQ(inside, 0.001);
  EXPECT_DOUBLE_EQ(outside, 0.01);
  EXPECT_DOUBLE_EQ(links, 0.5);
}

TEST(WayTime, OfServersOfANodeSharesItsPort) {
  // Two servers behind one port: 60 B take 1.2 s, and 0.1 s of alpha.
  EXPECT_NEAR(time_of({"server:2"}, 8, nodes).seconds, 2 * 6 * (0.1 + 60 * 0.02), 1e-9);
}

TEST(WayTime, OfDividedLayersSumsActivations) {
  // 3 exchanges forward and back; a ring of 2 ranks has 2 messages of half of 8 images.
  EXPECT_NEAR(time_of({"split:2", {}, 3, 10}, 2).seconds, 3 + 6 * 2 * (0.01 + 0.04), 1e-12);
}

TEST(WayTime, RefusesOtherWays) {
  for (const char* way : {"", "sync", "stale", "stale:0", "async:1", "server:0", "pipeline:1",
                          "pipeline:2:1f1b", "split"})
    EXPECT_THROW(expect_way({way, 1, 1, 1}), InputError) << way;
  EXPECT_THROW(expect_way({"pipeline:2", {}, {}, 1}), InputError);
  EXPECT_THROW(expect_way({"pipeline:2", 2, {}, {}}), InputError);
  EXPECT_THROW(expect_way({"split:2", {}, {}, 1}), InputError);
  EXPECT_NO_THROW(expect_way({"split:2", {}, 1, 1}));
}

}  // namespace test_way_cost
}  // namespace assay::scaling
