// Arrivals of ranks on several hosts become one table of blame, the same on all.

#include "core/measure/blame_recorder.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "comm/forwarding.hpp"
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
    BlameRecorder recorder(ranks, {"a test"});
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
    const Blame blame = recorder.make_blame();
    const std::vector<std::string> all = ranks.allgather(nlohmann::json(blame).dump());
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(blame.events, 100);
    // Times are seconds since the host's start: after a year each of 100 is rounded by 4e-9.
    constexpr double near = 1e-6;
    EXPECT_NEAR(blame.seconds, 1, near);       // of the slowest rank
    EXPECT_NEAR(blame.network_s, 0.05, near);  // of the one that waits least
    ASSERT_EQ(blame.ranks.size(), 2U);
    EXPECT_NEAR(blame.ranks[1].cost_s, 0.1, 1e-6);
    EXPECT_EQ(blame.ranks[1].last, 100);
    EXPECT_NEAR(blame.ranks[1].compute_s, 0.6, near);
    EXPECT_NEAR(blame.ranks[0].compute_s, 0.5, near);
    EXPECT_NEAR(blame.ranks[0].input_s, 0.1, near);
    EXPECT_NEAR(blame.ranks[0].network_s, 0.2, near);
    EXPECT_NEAR(blame.ranks[0].wait_s, 0.15, near);
    EXPECT_NEAR(blame.ranks[0].processor_s, 0.4, near);
    EXPECT_FALSE(blame.links);  // there is one host
    ASSERT_EQ(blame.blamed.size(), 1U);
    EXPECT_EQ(blame.blamed[0].rank, 1);
    EXPECT_EQ(blame.clock_error_s, 0);
  });
}

TEST(BlameRecorder, CommunicationBeforeIsNoWorkOfARank) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    BlameRecorder recorder(ranks, {"a test"});
    recorder.begin();
    std::vector<Arrival> arrivals;
    // Rank 0 waits for rank 1 in a call that blocks, before it comes to the sum itself.
    for (int i = 0; i < 50; ++i)
      arrivals.push_back(
          {10e-3 * i, 10e-3 * i + 9e-3, 0, ranks.rank() == 0 ? 3e-3 : 0.0, 6e-3, 0.5e-3, 10e-3});
    recorder.end(arrivals);
    const Blame blame = recorder.make_blame();
    ASSERT_EQ(blame.blamed.size(), 1U);
    EXPECT_EQ(blame.blamed[0].rank, 1);
    EXPECT_NEAR(blame.blamed[0].cost, 0.3, 1e-6);
  });
}

TEST(BlameRecorder, BlamesNobodyForWhomNobodyWaited) {
  for (const double wait : {0.8e-3, 1.2e-3})  // of rank 0, where rank 1 is late by 1 ms
    testing_fakes::on_threads(2, [&](Communicator& ranks) {
      BlameRecorder recorder(ranks, {"a test"});
      recorder.begin();
      std::vector<Arrival> arrivals;
      const double late = ranks.rank() == 1 ? 1e-3 : 0;
      for (int i = 0; i < 50; ++i) {
        const double now = 10e-3 * i;
        arrivals.push_back({now, now + 8e-3 + late, 0, 0, 4e-3, late > 0 ? 0.2e-3 : wait, 10e-3});
      }
      recorder.end(arrivals);
      const Blame blame = recorder.make_blame();
      EXPECT_EQ(blame.blamed.size(), wait > 1e-3 ? 1U : 0U);
      EXPECT_EQ(blame.ranks.size(), wait > 1e-3 ? 2U : 0U);
      EXPECT_EQ(blame.unsupported.find("contradicts") == std::string::npos, wait > 1e-3);
    });
}

/// Runs of two events, of which `numbers` stay of so many.
std::vector<double> kept_of(std::size_t runs, std::size_t most, double& part) {
  ThinnedRuns thinned(most);
  for (std::size_t run = 0; run < runs; ++run) {
    Arrival first, second;
    first.run = 1;
    first.at = second.at = static_cast<double>(run);
    second.input = 1;
    thinned.add(first);
    thinned.add(second);
  }
  part = thinned.part();
  EXPECT_EQ(thinned.kept().size(), 2 * thinned.runs());
  std::vector<double> numbers;
  for (std::size_t i = 0; i < thinned.kept().size(); ++i) {
    EXPECT_EQ(thinned.kept()[i].input, i % 2) << "each kind of event stays as often";
    EXPECT_EQ(thinned.kept()[i].at, thinned.kept()[i - i % 2].at);
    if (i % 2 == 0) numbers.push_back(thinned.kept()[i].at);
  }
  return numbers;
}

TEST(ThinnedRuns, KeepWholeRunsAtEqualDistances) {
  double part = 0;
  EXPECT_EQ(kept_of(4, 8, part), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(part, 1);
  EXPECT_EQ(kept_of(5, 8, part), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(part, 3.0 / 5);
  EXPECT_EQ(kept_of(9, 8, part), (std::vector<double>{0, 4, 8}));
  EXPECT_EQ(part, 3.0 / 9);
  EXPECT_EQ(kept_of(1000, 100, part).size(), 32U);  // every 32nd
  EXPECT_EQ(part, 32.0 / 1000);
}

TEST(BlameRecorder, ALateSecondCollectiveCostsAsMuchWhereRunsAreThinnedOut) {
  for (const int steps : {100, 40000})
    testing_fakes::on_threads(2, [&](Communicator& ranks) {
      BlameRecorder recorder(ranks, {"a test"});
      recorder.begin();
      std::vector<Arrival> arrivals;
      const double late = ranks.rank() == 1 ? 1e-3 : 0;
      for (int i = 0; i < steps; ++i) {
        const double now = 10e-3 * i;
        arrivals.push_back({now, now + 4e-3, 0, 0, 4e-3, 1e-3, 10e-3});
        arrivals.push_back({now + 5e-3, now + 8e-3 + late, 0, 0, 3e-3, 2e-3 - late, 0});
      }
      recorder.end(arrivals);
      const Blame blame = recorder.make_blame();
      EXPECT_EQ(blame.runs, steps > 100 ? steps / 2 : steps);
      EXPECT_EQ(blame.events, 2 * blame.runs);
      EXPECT_NEAR(blame.seconds, 10e-3 * blame.runs, 1e-6);
      EXPECT_NEAR(blame.ranks[1].cost_s / blame.seconds, 0.1, 1e-6);
      EXPECT_NEAR(blame.ranks[0].compute_s / blame.seconds, 0.7, 1e-6);
      EXPECT_NEAR(blame.ranks[0].wait_s / blame.seconds, 0.3, 1e-6);
      ASSERT_EQ(blame.blamed.size(), 1U);
      EXPECT_EQ(blame.blamed[0].rank, 1);
    });
}

TEST(BlameRecorder, LinksBetweenHostsAreMeasuredWhereTheNetworkTakesTime) {
  for (const int hosts : {3, 4, 5})
    for (const double wait : {1e-4, 5e-3}) {
      testing_fakes::on_threads(
          hosts,
          [&](Communicator& ranks) {
            BlameRecorder recorder(ranks, {"a test"});
            recorder.begin();
            recorder.end(std::vector<Arrival>(20, {0, 1e-3, 0, 0, 0, wait, 1e-2}));
            const Blame blame = recorder.make_blame();
            EXPECT_EQ(blame.links.has_value(), wait > 1e-3) << hosts << " " << wait;
            if (!blame.links) return;
            EXPECT_EQ(blame.links->unsupported.empty(), hosts >= 4) << hosts;
            if (hosts < 4) return;
            EXPECT_GT(blame.links->typical_s, 0);
            EXPECT_GE(blame.links->bytes, 1 << 16);
            EXPECT_EQ(blame.links->network, "the launcher's");
          },
          1);
    }
}

/// Ranks that count how often a part of them is made, whose messages are then measured.
class CountedParts final : public ForwardingCommunicator {
 public:
  CountedParts(Communicator& under, std::atomic<int>& count)
      : ForwardingCommunicator(under), count_(count) {}
  std::unique_ptr<Communicator> split(int color, int key) override {
    ++count_;
    return under().split(color, key);
  }

 private:
  std::atomic<int>& count_;
};

TEST(BlameRecorder, LinksAreThoseOfTheNetworkOfTheJob) {
  for (const bool known : {true, false}) {
    std::atomic<int> used{0}, unused{0};
    testing_fakes::on_threads(
        4,
        [&](Communicator& launched) {
          CountedParts control(launched, unused), transport(launched, used);
          JobNetwork network{"fast", &transport};
          if (!known) network = {"fast", nullptr, "its messages are of GPU memory"};
          BlameRecorder recorder(control, {"a test", network});
          recorder.begin();
          recorder.end(std::vector<Arrival>(20, {0, 1e-3, 0, 0, 0, 5e-3, 1e-2}));
          const Blame blame = recorder.make_blame();
          ASSERT_TRUE(blame.links);
          EXPECT_EQ(blame.links->network, known ? "fast" : "");
          EXPECT_EQ(blame.links->unsupported, known ? "" : "its messages are of GPU memory");
        },
        1);
    EXPECT_EQ(used, known ? 4 : 0);
    EXPECT_EQ(unused, 0);
  }
}

TEST(BlameRecorder, ADeviceIsTheRanksOwn) {
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    BlameRecorder recorder(ranks, {"a test", {}, "GPU " + std::to_string(ranks.rank())});
    recorder.begin();
    recorder.end(std::vector<Arrival>(20, {0, 1e-3, 0, 0, 0, 1e-3, 1e-2}));
    const Blame blame = recorder.make_blame();
    EXPECT_FALSE(blame.on_host);
    EXPECT_EQ(blame.ranks[1].place, "GPU 1");
  });
}

TEST(PairTimes, EachPairHasTheTimeOfItsSlowerRank) {
  testing_fakes::on_threads(4, [](Communicator& ranks) {
    const auto partners = make_pairings(4, 3);
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
