// Ranks whose tensors become ready in orders and at moments of their own agree on one order.
#include "comm/layers/control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "core/base/error.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_control {

using testing_fakes::on_threads;

constexpr int tag = 7;

/// The neighbours of all ranks fit, and every rank is below the root.
TEST(Control, TheTreeConnectsAllRanks) {
  for (const int ranks : {1, 2, 3, 7, 8, 9, 27360})
    for (const int radix : {0, 1, 2, 3, 8}) {
      int below = 0;
      std::size_t widest = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ControlTree tree = control_tree(rank, ranks, radix);
        EXPECT_EQ(tree.parent < 0, rank == 0);
        widest = std::max(widest, tree.children.size());
        for (const int child : tree.children) {
          ++below;
          EXPECT_EQ(control_tree(child, ranks, radix).parent, rank);
          EXPECT_GT(child, rank);  // so there is no cycle
        }
      }
      EXPECT_EQ(below, ranks - 1);
      EXPECT_LE(widest, static_cast<std::size_t>(radix == 0 ? ranks - 1 : radix));
    }
}

/// Steps of all ranks; what each has found as the order of each step.
std::vector<std::vector<std::vector<int>>> run_steps(int ranks, int radix, int tensors, int steps,
                                                     unsigned seed) {
  std::vector<std::vector<std::vector<int>>> orders(static_cast<std::size_t>(ranks));
  std::vector<std::atomic<int>> ready(static_cast<std::size_t>(tensors * steps));
  on_threads(ranks, [&](Communicator& transport) {
    std::mt19937 random(seed + static_cast<unsigned>(transport.rank()));
    Control control(transport, radix, tensors, tag);
    std::int64_t sent = 0;
    for (int step = 0; step < steps; ++step) {
      std::vector<int> own(static_cast<std::size_t>(tensors));
      std::iota(own.begin(), own.end(), 0);
      std::shuffle(own.begin(), own.end(), random);
      control.begin();
      std::size_t reported = 0;
      while (control.order().size() < own.size()) {
        if (reported < own.size() && random() % 3 == 0) {
          ++ready[static_cast<std::size_t>(step * tensors + own[reported])];
          control.ready(own[reported++]);
        }
        if (random() % 4 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
        const int tensor = control.next();
        if (tensor >= 0) {
          EXPECT_EQ(ready[static_cast<std::size_t>(step * tensors + tensor)], ranks) << "too early";
        }
      }
      orders[static_cast<std::size_t>(transport.rank())].push_back(control.order());
      // Each neighbour has one message each way for each tensor.
      const ControlTree tree = control_tree(transport.rank(), ranks, radix);
      const auto neighbours = static_cast<std::int64_t>(tree.children.size()) + (tree.parent >= 0);
      EXPECT_EQ(control.count().sent - sent, neighbours * tensors);
      EXPECT_EQ(control.count().received, neighbours * tensors * (step + 1));
      sent = control.count().sent;
    }
  });
  return orders;
}

TEST(Control, OrdersAreEqualUnderRandomDelays) {
  unsigned seed = 1;
  for (const int ranks : {1, 2, 3, 5, 8})
    for (const int radix : {0, 1, 2, 3}) {
      const auto orders = run_steps(ranks, radix, 13, 4, seed += 100);
      for (const auto& of_rank : orders)
        EXPECT_EQ(of_rank, orders.front()) << ranks << " " << radix;
      for (std::vector<int> step : orders.front()) {
        std::sort(step.begin(), step.end());
        for (int i = 0; i < 13; ++i) EXPECT_EQ(step.at(static_cast<std::size_t>(i)), i);
      }
    }
}

TEST(Control, RefusesATensorThatIsReadyTwice) {
  on_threads(1, [](Communicator& transport) {
    Control control(transport, 2, 3, tag);
    control.begin();
    control.ready(1);
    EXPECT_THROW(control.ready(1), std::logic_error);
  });
}

TEST(Control, AnotherOrderOnOneRankIsFound) {
  on_threads(3, [](Communicator& transport) {
    EXPECT_EQ(why_not_one_order({2, 0, 1}, transport), "");
    const bool other = transport.rank() == 1;
    EXPECT_EQ(why_not_one_order({2, other ? 1 : 0, other ? 0 : 1}, transport),
              "ranks add gradients in different orders: number 2 is bucket 0 on one rank and 1 on "
              "another");
  });
}

TEST(Control, IsReadFromItsText) {
  EXPECT_EQ(read_control("none"), std::nullopt);
  EXPECT_EQ(read_control("flat"), 0);
  EXPECT_EQ(read_control("tree:8"), 8);
  for (const char* wrong : {"", "tree", "tree:", "tree:1", "tree:x", "tree:2048", "Flat"})
    EXPECT_THROW((void)read_control(wrong), InputError) << wrong;
}

/// The reason for the tree: flat, rank 0 of the exaflop run's 27,360 has 54,718 messages a tensor.
TEST(Control, TheBusiestRankOfATreeHasFewMessages) {
  EXPECT_EQ(busiest_messages(27360, 0), 2 * 27359);
  EXPECT_EQ(busiest_messages(27360, 8), 2 * 9);
  EXPECT_EQ(busiest_messages(2, 8), 2);
  EXPECT_EQ(busiest_messages(1, 0), 0);
}

TEST(Control, NeedsTags) {
  on_threads(2, [](Communicator& transport) { EXPECT_EQ(Control::why_not(transport), ""); });
  on_threads(
      2,
      [](Communicator& transport) {
        EXPECT_NE(Control::why_not(transport).find("tags"), std::string::npos);
      },
      0, false);
}

}  // namespace test_control
}  // namespace assay
