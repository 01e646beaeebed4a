// Arrivals of ranks on several hosts become one table of blame, the same on all.

#include "core/measure/blame_recorder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/measure/links.hpp"
#include "thread_communicator.hpp"

namespace assay {
namespace test_blame_recorder {

/// Arrivals of steps of 10 ms from now on; rank 1 comes 1 ms later.
std::vector<Arrival> arrivals_of(int rank, int count) {
  std::vector<Arrival> all;
  const double now = raw_seconds();
  for (int i = 0; i < count; ++i) {
    Arrival arrival;
    arrival.begun = now + 10e-3 * i;
    arrival.input = 1e-3;
    arrival.network = 2e-3;
    arrival.at = arrival.begun + 8e-3 + (rank == 1 ? 1e-3 : 0);
    arrival.wait = rank == 1 ? 0.5e-3 : 1.5e-3;
    arrival.processor = 4e-3;
    arrival.run = rank == 0 ? 10e-3 : 9e-3;
    all.push_back(arrival);
  }
  return all;
}

TEST(BlameRecorder, AllRanksHaveOneTable) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    BlameRecorder recorder(ranks, "a test", "cpu");
    static double base = 0;
    if (ranks.rank() == 0) base = raw_seconds();
    ranks.barrier();
    for (int part = 0; part < 2; ++part) {
      recorder.begin();
      std::vector<Arrival> arrivals = arrivals_of(ranks.rank(), 50);
      const double shift = base - arrivals[0].begun;  // ranks begin together
      for (Arrival& arrival : arrivals) arrival.begun += shift, arrival.at += shift;
      recorder.end(arrivals);
    }
    const Blame blame = recorder.found();
    const std::vector<std::string> all = ranks.allgather(nlohmann::json(blame).dump());
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(blame.events, 100);
    EXPECT_NEAR(blame.seconds, 1, 1e-9);       // of the slowest rank
    EXPECT_NEAR(blame.network_s, 0.05, 1e-9);  // of the one that waits least
    ASSERT_EQ(blame.ranks.size(), 2U);
    EXPECT_NEAR(blame.ranks[1].cost_s, 0.1, 1e-6);
    EXPECT_EQ(blame.ranks[1].last, 100);
    EXPECT_NEAR(blame.ranks[1].compute_s, 0.6, 1e-9);
    EXPECT_NEAR(blame.ranks[0].compute_s, 0.5, 1e-9);
    EXPECT_NEAR(blame.ranks[0].input_s, 0.1, 1e-9);
    EXPECT_NEAR(blame.ranks[0].network_s, 0.2, 1e-9);
    EXPECT_NEAR(blame.ranks[0].wait_s, 0.15, 1e-9);
    EXPECT_NEAR(blame.ranks[0].processor_s, 0.4, 1e-9);
    EXPECT_FALSE(blame.links);  // there is one host
    ASSERT_EQ(blame.blamed.size(), 1U);
    EXPECT_EQ(blame.blamed[0].rank, 1);
    EXPECT_EQ(blame.clock_error_s, 0);
  });
}

TEST(BlameRecorder, CommunicationBeforeIsNoWorkOfARank) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    BlameRecorder recorder(ranks, "a test", "cpu");
    recorder.begin();
    std::vector<Arrival> arrivals;
    // Rank 0 waits for rank 1 in a call that blocks, before it comes to the sum itself.
    for (int i = 0; i < 50; ++i)
      arrivals.push_back(
          {10e-3 * i, 10e-3 * i + 9e-3, 0, ranks.rank() == 0 ? 3e-3 : 0.0, 6e-3, 0.5e-3, 10e-3});
    recorder.end(arrivals);
    const Blame blame = recorder.found();
    ASSERT_EQ(blame.blamed.size(), 1U);
    EXPECT_EQ(blame.blamed[0].rank, 1);
    EXPECT_NEAR(blame.blamed[0].cost, 0.3, 1e-6);
  });
}

TEST(BlameRecorder, ManyEventsAreThinnedOut) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    BlameRecorder recorder(ranks, "a test", "cpu");
    for (int part = 0; part < 3; ++part) {
      recorder.begin();
      recorder.end(std::vector<Arrival>(3001, {0, 1e-3 * (1 + ranks.rank()), 0, 0, 0, 1e-3, 1e-2}));
    }
    const Blame blame = recorder.found();
    EXPECT_EQ(blame.events, 2251);  // every fourth of 9003
    EXPECT_NEAR(blame.seconds, 22.51, 1e-9);
    EXPECT_NEAR(blame.ranks[1].cost_s, 2.251, 1e-9);
  });
}

TEST(BlameRecorder, LinksBetweenHostsAreMeasuredWhereTheNetworkTakesTime) {
  for (const int hosts : {3, 4, 5})
    for (const double wait : {1e-4, 5e-3}) {
      testing_fakes::on_threads(
          hosts,
          [&](Communicator& ranks) {
            BlameRecorder recorder(ranks, "a test", "cpu");
            recorder.begin();
            recorder.end(std::vector<Arrival>(20, {0, 1e-3, 0, 0, 0, wait, 1e-2}));
            const Blame blame = recorder.found();
            EXPECT_EQ(blame.links.has_value(), hosts >= 4 && wait > 1e-3) << hosts << " " << wait;
            if (blame.links) {
              EXPECT_GT(blame.links->typical_s, 0);
              EXPECT_GE(blame.links->bytes, 1 << 16);
            }
          },
          1);
    }
}

TEST(PairTimes, EachPairHasTheTimeOfItsSlowerRank) {
  testing_fakes::on_threads(4, [](Communicator& ranks) {
    const auto partners = pairings(4, 3);
    std::vector<double> mine;
    for (std::size_t round = 0; round < 3; ++round)
      mine.push_back(10.0 * static_cast<double>(round) + ranks.rank());
    const std::vector<PairTime> pairs = pair_times(partners, mine, ranks.rank(), ranks);
    ASSERT_EQ(pairs.size(), 6U);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_LT(pairs[i].a, pairs[i].b);
      EXPECT_EQ(pairs[i].seconds, 10.0 * static_cast<double>(i / 2) + pairs[i].b);
      EXPECT_EQ(partners[i / 2][static_cast<std::size_t>(pairs[i].a)], pairs[i].b);
    }
  });
}

}  // namespace test_blame_recorder
}  // namespace assay
