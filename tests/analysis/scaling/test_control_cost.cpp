#include "analysis/scaling/way_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <vector>

#include "comm/layers/control.hpp"
#include "core/base/error.hpp"

namespace assay::scaling {
namespace test_control_cost {

Network nodes_of(int ranks, double inside, double outside) {
  return {{{"node", ranks, inside, 0}, {"nodes", 0, outside, 0}}};
}

/// The messages of one tensor by the tree that ranks use, event by event: each takes `alpha` of its
/// sender, which handles one thing at a time, and then of its receiver.
double latency_of_events(int ranks, int radix, double alpha) {
  struct Event {
    double time;
    int rank;
    bool report;
    bool operator<(const Event& other) const { return time > other.time; }
  };
  std::vector<ControlTree> tree;
  for (int rank = 0; rank < ranks; ++rank) tree.push_back(control_tree(rank, ranks, radix));
  std::vector<double> free(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> missing;
  for (const ControlTree& of : tree) missing.push_back(of.children.size());
  std::priority_queue<Event> events;
  const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
  const auto send = [&](int from, int to, bool report) {
    free[at(from)] += alpha;
    events.push({free[at(from)], to, report});
  };
  double last = 0;
  const auto decide = [&](int rank) {
    for (const int child : tree[at(rank)].children) send(rank, child, false);
    last = std::max(last, free[at(rank)]);
  };
  const auto complete = [&](int rank) {
    if (tree[at(rank)].parent < 0) return decide(rank);
    send(rank, tree[at(rank)].parent, true);
  };
  for (int rank = 0; rank < ranks; ++rank)
    if (missing[at(rank)] == 0) complete(rank);
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    free[at(event.rank)] = std::max(free[at(event.rank)], event.time) + alpha;
    if (!event.report) {
      decide(event.rank);
      last = std::max(last, free[at(event.rank)]);
    } else if (--missing[at(event.rank)] == 0) {
      complete(event.rank);
    }
  }
  return last;
}

TEST(ControlCost, CountsTheMessagesOfTheRanksThemselves) {
  for (const int ranks : {1, 2, 6, 37, 1000})
    for (const int radix : {0, 2, 3, 8}) {
      const std::string way = radix == 0 ? "flat" : "tree:" + std::to_string(radix);
      EXPECT_EQ(control_cost(way, ranks, nodes_of(4, 1, 1)).messages,
                static_cast<double>(ranks == 1 ? 0 : busiest_messages(ranks, radix)))
          << way << ' ' << ranks;
    }
}

TEST(ControlCost, TakesTheTimeOfItsMessages) {
  for (const int ranks : {1, 2, 5, 64, 200})
    for (const int radix : {0, 2, 4, 8}) {
      const std::string way = radix == 0 ? "flat" : "tree:" + std::to_string(radix);
      const double events = latency_of_events(ranks, radix, 2);
      EXPECT_NEAR(control_cost(way, ranks, nodes_of(4, 2, 2)).latency, events, 0.2 * events)
          << way << ' ' << ranks;
    }
}

TEST(ControlCost, OfThreeRanksIsCountedByHand) {
  // Two reports: 1 until both are sent, then one after the other: 3. Decisions leave at 4 and 5,
  // and are handled at 5 and 6.
  const ControlCost cost = control_cost("flat", 3, nodes_of(4, 1, 1));
  EXPECT_EQ(cost.latency, 6);
  EXPECT_EQ(cost.interval, 4);
  EXPECT_EQ(cost.seconds(3), 14);
}

TEST(ControlCost, OfLinksIsThatOfEachMessage) {
  // Rank 1 is in the root's node, rank 2 is not.
  EXPECT_EQ(control_cost("flat", 3, nodes_of(2, 1, 10)).interval, 22);
}

TEST(ControlCost, AFlatRootHasTheWorkOfAllRanks) {
  const Network network = nodes_of(6, 5e-6, 1e-5);
  EXPECT_GT(control_cost("flat", 27360, network).seconds(72), 30);
  EXPECT_LT(control_cost("tree:8", 27360, network).seconds(72), 0.02);
}

TEST(ControlCost, RefusesOtherWays) {
  for (const char* way : {"", "tree", "tree:1", "tree:2000", "tree:x", "ring"})
    EXPECT_THROW(control_cost(way, 4, nodes_of(2, 1, 1)), InputError) << way;
}

}  // namespace test_control_cost
}  // namespace assay::scaling
