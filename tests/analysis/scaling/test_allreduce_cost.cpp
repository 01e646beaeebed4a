#include "analysis/scaling/allreduce_cost.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/algorithms/schedule.hpp"

namespace assay::scaling {
namespace test_allreduce_cost {

static_assert(assay_segment_bytes == segment_bytes, "fits of Assay's algorithms count messages");

constexpr double alpha = 1e-5, beta = 1e-9;

Network flat() { return {{{"network", 0, alpha, beta, 1}}, 0}; }

double seconds(const std::string& algorithm, int ranks, std::int64_t elements,
               const Network& network) {
  auto cost = AllreduceCost::make(algorithm, ranks, network);
  if (auto* refusal = std::get_if<Unsupported>(&cost)) throw std::logic_error(refusal->reason);
  return std::get<AllreduceCost>(cost).seconds(elements, 4);
}

std::string refusal(const std::string& algorithm, int ranks, const Network& network) {
  auto cost = AllreduceCost::make(algorithm, ranks, network);
  auto* const found = std::get_if<Unsupported>(&cost);
  return found ? found->reason : "";
}

TEST(AllreduceCost, IsTheTextbooksOnOneLevel) {
  for (const int p : {2, 4, 8, 64, 1024}) {
    const std::int64_t elements = 1 << 20;
    const double m = 4.0 * elements, n = p;
    EXPECT_NEAR(seconds("ring", p, elements, flat()), 2 * (n - 1) * (alpha + beta * m / n), 1e-12);
    EXPECT_NEAR(seconds("halving_doubling", p, elements, flat()),
                2 * std::log2(n) * alpha + 2 * (n - 1) / n * beta * m, 1e-12);
    // Ranks that are nodes of their own have no level inside.
    EXPECT_DOUBLE_EQ(seconds("hierarchical", p, elements, flat()),
                     seconds("halving_doubling", p, elements, flat()));
    EXPECT_DOUBLE_EQ(seconds("ddl", p, elements, flat()), seconds("ring", p, elements, flat()));
  }
  // 8 x 8: 2 (7 + 7) rounds; the bytes of a ring.
  EXPECT_NEAR(seconds("torus2d", 64, 1 << 20, flat()),
              28 * alpha + 2.0 * 63 / 64 * beta * 4 * (1 << 20), 1e-12);
  // 5 = 4 + 1: all data once to the neighbour and back, around 4 ranks.
  EXPECT_NEAR(seconds("halving_doubling", 5, 1 << 20, flat()),
              6 * alpha + (2 + 1.5) * beta * 4 * (1 << 20), 1e-12);
  for (const AlgorithmCost& cost : algorithm_costs()) {
    EXPECT_EQ(seconds(cost.name, 1, 1000, flat()), 0) << cost.name;
    EXPECT_FALSE(cost.source.empty());
  }
}

TEST(AllreduceCost, PiecesAreSentInSegmentsAndRoundedUp) {
  Network network = flat();
  network.segment_bytes = 1000;
  // Pieces of 500 elements, 2000 bytes: two messages each.
  EXPECT_NEAR(seconds("ring", 2, 1000, network), 2 * (2 * alpha + beta * 2000), 1e-12);
  // The largest piece of 7 elements over 4 ranks has 2.
  EXPECT_NEAR(seconds("ring", 4, 7, flat()), 6 * (alpha + beta * 8), 1e-12);
}

/// Nodes of 4 with `links` ports, ten times as slow outside.
Network nodes(double links) {
  return {{{"node", 4, alpha / 10, beta / 10, 1}, {"nodes", 0, alpha, beta, links}}, 0};
}

TEST(AllreduceCost, MessagesThatLeaveANodeTogetherShareItsPorts) {
  const double m = 4e6;
  // Inside: 3 + 3 rounds of m/4; among 2 nodes all 4 ranks at once exchange halves of m/4.
  // A shared port is never idle: a rank's alpha passes while the others' messages do.
  const auto hierarchical = [&](double sharing) {
    return 6 * (alpha / 10 + beta / 10 * m / 4) + (sharing > 1 ? 1 : 2) * alpha +
           2 * sharing * beta * m / 8;
  };
  EXPECT_NEAR(seconds("hierarchical", 8, 1000000, nodes(4)), hierarchical(1), 1e-12);
  EXPECT_NEAR(seconds("hierarchical", 8, 1000000, nodes(2)), hierarchical(2), 1e-12);
  EXPECT_NEAR(seconds("hierarchical", 8, 1000000, nodes(1)), hierarchical(4), 1e-12);
  EXPECT_NEAR(seconds("hierarchical", 8, 1000000, nodes(8)), hierarchical(1), 1e-12);
  // One message at a time leaves a node in a ring.
  EXPECT_NEAR(seconds("ring", 8, 1000000, nodes(1)), 14 * (alpha + beta * m / 8), 1e-12);
  // Messages of ranks of one node stay there.
  EXPECT_NEAR(seconds("ring", 4, 1000000, nodes(1)), 6 * (alpha / 10 + beta / 10 * m / 4), 1e-12);
  // Three levels; the outer ports are those of a group of 8 ranks.
  const Network three{{{"node", 4, alpha / 10, beta / 10, 1},
                       {"rack", 8, alpha, beta, 4},
                       {"racks", 0, 2 * alpha, 2 * beta, 4}},
                      0};
  EXPECT_NEAR(seconds("ddl", 16, 1 << 20, three),
              6 * (alpha / 10 + beta / 10 * (1 << 20)) + 2 * (alpha + beta * (1 << 19)) +
                  2 * alpha + 2 * 2 * 2 * beta * (1 << 18),
              1e-12);
}

TEST(AllreduceCost, HierarchicalHasARemainder) {
  // 1000001 elements: the last one by a tree inside (2 + 2 rounds), and 2 rounds among nodes.
  const double more = 4 * (alpha / 10 + beta / 10 * 4) + 2 * (alpha + beta * 4);
  EXPECT_NEAR(
      seconds("hierarchical", 8, 1000001, nodes(4)) - seconds("hierarchical", 8, 1000000, nodes(4)),
      more, 1e-12);
}

TEST(AllreduceCost, SaysWhereItIsNotDefined) {
  EXPECT_EQ(refusal("hierarchical", 10, nodes(1)), "10 ranks do not fill groups of 4");
  EXPECT_EQ(refusal("ddl", 10, nodes(1)), "10 ranks do not fill groups of 4");
  EXPECT_EQ(refusal("torus2d", 7, nodes(1)), "7 ranks do not form a grid of at least 2 x 2");
  EXPECT_EQ(refusal("hierarchical", 3, nodes(1)), "");
  EXPECT_EQ(refusal("ring", 7, nodes(1)), "");
  EXPECT_THROW(AllreduceCost::make("rnig", 2, flat()), std::logic_error);
}

}  // namespace test_allreduce_cost
}  // namespace assay::scaling
