// Blame of ranks: waits are divided, causes told from each other, chance and clocks blame nobody.

#include "core/measure/blame.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "blame_noise.hpp"

namespace assay {
namespace test_blame {

using Waits = std::vector<double>;

TEST(DividedWaits, OneLateRankHasAllOfIt) {
  EXPECT_EQ(divide_waits(Waits{1, 4}), (Waits{0, 3}));
  EXPECT_EQ(divide_waits(Waits{4, 1, 1, 1}), (Waits{3, 0, 0, 0}));
  EXPECT_EQ(divide_waits(Waits{2, 2, 2}), (Waits{0, 0, 0}));
}

TEST(DividedWaits, RanksThatAreLateTogetherShareIt) {
  EXPECT_EQ(divide_waits(Waits{1, 1, 1, 5, 5}), (Waits{0, 0, 0, 2, 2}));
  EXPECT_EQ(divide_waits(Waits{1, 1, 1, 3, 5}), (Waits{0, 0, 0, 1, 3}));
}

TEST(DividedWaits, TheirSumIsWhatTheTypicalRankWaits) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int ranks = 2; ranks < 20; ++ranks) {
    Waits at(static_cast<std::size_t>(ranks));
    for (double& time : at) time = unit(random);
    const Waits waits = divide_waits(at);
    std::ranges::sort(at);
    EXPECT_NEAR(std::accumulate(waits.begin(), waits.end(), 0.0),
                at.back() - at[(at.size() - 1) / 2], 1e-12);
  }
}

/// A job of steps of 1 s. `late`: seconds for which a rank is late to an event.
struct Job {
  int ranks = 2, events = 200;
  double clock_error = 0;
  std::function<double(int rank, int event)> late = [](int, int) { return 0.0; };
  /// Seconds by which it began late, without which it would have come earlier.
  std::function<double(int rank, int event)> began = [](int, int) { return 0.0; };
};

Blame judged(const Job& job, const std::function<void(Blame&)>& change = {}) {
  Blame blame;
  std::vector<double> arrivals, works;
  blame.events = blame.seconds = blame.runs = job.events;
  blame.clock_error_s = job.clock_error;
  for (int rank = 0; rank < job.ranks; ++rank) {
    Blame::Rank& of = blame.ranks.emplace_back();
    of.rank = rank;
    of.host = "h" + std::to_string(rank);
    of.place = "processors " + std::to_string(rank);
    of.compute_s = of.processor_s = 0.8 * job.events;
    of.ready_s = 0;
  }
  for (int event = 0; event < job.events; ++event)
    for (int rank = 0; rank < job.ranks; ++rank) {
      works.push_back(0.8 + job.late(rank, event));
      arrivals.push_back(event + job.began(rank, event) + works.back());
    }
  set_costs({arrivals, works},
            std::vector<double>(static_cast<std::size_t>(job.ranks), job.clock_error), blame);
  if (change) change(blame);
  judge(blame);
  return blame;
}

std::function<double(int, int)> rank_one_late(double seconds) {
  return [=](int rank, int) { return rank == 1 ? seconds : 0; };
}

TEST(Blame, ALateRankIsNamedWithWhatItCosts) {
  for (const int ranks : {2, 3, 4, 16}) {
    const Blame blame = judged({ranks, 200, 0, rank_one_late(0.1)});
    ASSERT_EQ(blame.blamed.size(), 1U) << ranks;
    EXPECT_EQ(blame.blamed[0].rank, 1);
    EXPECT_EQ(blame.blamed[0].host, "h1");
    EXPECT_NEAR(blame.blamed[0].cost, 0.1, 1e-9);
    EXPECT_NEAR(blame.blamed[0].cost_s, 20, 1e-6);
    EXPECT_EQ(blame.ranks[1].last, 200);
    EXPECT_EQ(blame.undecided, "");
  }
}

TEST(Blame, TwoLateRanksDoNotHideEachOther) {
  const Blame blame = judged({8, 200, 0, [](int rank, int) { return rank < 2 ? 0.2 : 0; }});
  ASSERT_EQ(blame.blamed.size(), 2U);
  EXPECT_NEAR(blame.blamed[0].cost, 0.1, 1e-9);
  EXPECT_NEAR(blame.blamed[1].cost, 0.1, 1e-9);
}

TEST(Blame, ARankThatWorksNoLongerOrComesNoLaterIsNotBlamed) {
  Job job{4, 200, 0, rank_one_late(0.1)};
  // It left the collective before early, so that nobody waits for it.
  job.began = [](int rank, int) { return rank == 1 ? -0.1 : 0; };
  EXPECT_TRUE(judged(job).blamed.empty());
  // Another one left it late, and comes late without working longer.
  job.began = [](int rank, int) { return rank == 2 ? 0.3 : 0; };
  const Blame blame = judged(job);
  ASSERT_LE(blame.blamed.size(), 1U);
  for (const Blame::Culprit& of : blame.blamed) EXPECT_EQ(of.rank, 1);
  EXPECT_EQ(blame.ranks[2].cost_s, 0);
}

TEST(Blame, ASmallDelayBlamesNobody) {
  const Blame blame = judged({2, 200, 0, rank_one_late(0.014)});
  EXPECT_TRUE(blame.blamed.empty());
  EXPECT_EQ(blame.undecided, "");
  EXPECT_EQ(judged({2, 200, 0, rank_one_late(0.016)}).blamed.size(), 1U);
}

TEST(Blame, WhatClocksMayErrIsNoDelay) {
  // Both clocks may err by 20 ms; one rank seems to be late by 30 ms.
  const Blame blame = judged({2, 200, 0.02, rank_one_late(0.03)});
  EXPECT_TRUE(blame.blamed.empty());
  EXPECT_NE(blame.undecided, "");
  EXPECT_EQ(blame.ranks[1].last, 0);
  EXPECT_EQ(judged({2, 200, 0.02, rank_one_late(0.05)}).blamed.size(), 1U);
}

TEST(Blame, AFewLongDelaysAreChance) {
  // 6 % of the time in two of 200 events.
  const Blame blame = judged(
      {2, 200, 0, [](int rank, int event) { return rank == 1 && event % 150 == 20 ? 6.0 : 0.0; }});
  EXPECT_TRUE(blame.blamed.empty());
  EXPECT_NE(blame.undecided, "");
  // The same sum in every tenth event is decided.
  const Blame often = judged(
      {2, 200, 0, [](int rank, int event) { return rank == 1 && event % 10 == 5 ? 0.6 : 0.0; }});
  EXPECT_EQ(often.blamed.size(), 1U);
}

TEST(Blame, FewEventsSayNothing) {
  const Blame blame = judged({2, 15, 0, rank_one_late(0.5)});
  EXPECT_TRUE(blame.blamed.empty());
  EXPECT_NE(blame.undecided.find("too few"), std::string::npos);
  EXPECT_EQ(judged({2, 16, 0, rank_one_late(0.5)}).blamed.size(), 1U);
}

/// The verdict on rank 1, which is late by 100 ms a step.
Blame::Culprit said(const std::function<void(Blame::Rank&, Blame&)>& change) {
  const Blame blame =
      judged({4, 100, 0, rank_one_late(0.1)}, [&](Blame& of) { change(of.ranks[1], of); });
  return blame.blamed.size() == 1 ? blame.blamed[0] : Blame::Culprit{};
}

TEST(Blame, CausesAreToldFromEachOther) {
  const auto hog = said([](Blame::Rank& rank, Blame&) { rank.compute_s += 10, rank.ready_s = 11; });
  EXPECT_EQ(hog.did, "compute");
  EXPECT_EQ(hog.how, "it waited for a processor that others used");
  const auto stopped = said([](Blame::Rank& rank, Blame&) { rank.compute_s += 10; });
  EXPECT_EQ(stopped.did, "compute");
  EXPECT_EQ(stopped.how, "it did not run");
  const auto slow =
      said([](Blame::Rank& rank, Blame&) { rank.compute_s += 10, rank.processor_s += 9.5; });
  EXPECT_EQ(slow.did, "compute");
  EXPECT_EQ(slow.how, "it computed longer");
  // One of two threads is stopped, and the other one spins until it comes.
  const auto threads = said([](Blame::Rank& rank, Blame& blame) {
    for (Blame::Rank& of : blame.ranks) of.processor_s = 1.9 * of.compute_s;
    rank.compute_s += 10, rank.processor_s += 10;
  });
  EXPECT_EQ(threads.how, "it computed longer, or a thread of it did not run");
  const auto input =
      said([](Blame::Rank& rank, Blame&) { rank.input_s += 9, rank.compute_s += 1; });
  EXPECT_EQ(input.did, "input");
  const auto late = said([](Blame::Rank&, Blame&) {});  // it began late
  EXPECT_EQ(late.did, "compute");
  EXPECT_EQ(late.how, "it did not run");
}

TEST(Blame, WhatAllRanksHaveIsNoCause) {
  // All wait for processors as long.
  const auto stopped = said([](Blame::Rank& rank, Blame& blame) {
    rank.compute_s += 10;
    for (Blame::Rank& of : blame.ranks) of.ready_s = 12;
  });
  EXPECT_EQ(stopped.how, "it did not run");
}

TEST(Blame, WhatTheSystemDoesNotTellIsNotSaid) {
  const auto unknown = said([](Blame::Rank& rank, Blame& blame) {
    rank.compute_s += 10;
    for (Blame::Rank& of : blame.ranks) of.ready_s.reset();
  });
  EXPECT_EQ(unknown.how, "it did not run, or waited for a processor");
  const auto of_gpu = said([](Blame::Rank& rank, Blame& blame) {
    rank.compute_s += 10;
    blame.on_host = false;
  });
  EXPECT_EQ(of_gpu.how, "it or its device was slower");
}

TEST(Blame, ASlowLinkIsBlamedForTheTimeInTheNetwork) {
  const auto with_link = [](double network, const std::string& link, double late) {
    return judged({4, 100, 0, rank_one_late(late)}, [&](Blame& blame) {
      blame.network_s = network;
      blame.links = Blame::Links{1 << 20, 0.01, {{link, 2.0}}};
    });
  };
  const Blame blame = with_link(40, "h2", 0);
  ASSERT_EQ(blame.blamed.size(), 1U);
  EXPECT_FALSE(blame.blamed[0].rank);
  EXPECT_EQ(blame.blamed[0].host, "h2");
  EXPECT_EQ(blame.blamed[0].did, "network");
  EXPECT_NEAR(blame.blamed[0].cost, 0.2, 1e-9);
  EXPECT_TRUE(with_link(2.5, "h2", 0).blamed.empty());  // there is little to gain
  // A late rank is blamed beside it; but messages of its own host are slow because it is.
  EXPECT_EQ(with_link(18, "h2", 0.1).blamed.size(), 2U);
  EXPECT_EQ(with_link(18, "h1", 0.1).blamed.size(), 1U);
  EXPECT_EQ(with_link(18, "h0+h1", 0.1).blamed.size(), 1U);
  EXPECT_EQ(with_link(18, "h10", 0.1).blamed.size(), 2U);
  // One that costs more than the rank is not slow for that reason.
  const Blame dearer = with_link(40, "h1", 0.1);
  ASSERT_EQ(dearer.blamed.size(), 2U);
  EXPECT_EQ(dearer.blamed[0].did, "network");
  EXPECT_EQ(dearer.blamed[1].rank, 1);
}

TEST(Blame, ALinkThatWasNotMeasuredIsNotBlamed) {
  const Blame blame = judged({4, 100, 0}, [](Blame& of) {
    of.network_s = 40;
    of.links = Blame::Links{1 << 20, 0.01, {{"h2", 2.0}}, "", "of GPU memory"};
  });
  EXPECT_TRUE(blame.blamed.empty());
}

TEST(Blame, AnUndecidedTableSaysHowManyRunsItNeeds) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 0.1);
  const auto noisy = [&](int events, double error) {
    return judged({2, events, error, [&](int, int) { return normal(random); }});
  };
  const Blame few = noisy(100, 0);
  const std::optional<double> needed = count_runs_to_decide(few);
  ASSERT_TRUE(needed);
  EXPECT_NEAR(*needed, 100 * std::pow(few.resolution / least_blame, 2), 1);
  EXPECT_NE(few.undecided.find(std::to_string(static_cast<int>(*needed)) + " decide it"),
            std::string::npos)
      << few.undecided;
  const Blame enough = noisy(static_cast<int>(3 * *needed), 0);
  EXPECT_EQ(enough.undecided, "");
  EXPECT_LE(*count_runs_to_decide(enough), 3 * *needed);
  // The clocks' part of the interval does not fall.
  EXPECT_GT(*count_runs_to_decide(noisy(100, 5e-3)), *needed);
  const Blame hopeless = noisy(100, 8e-3);
  EXPECT_FALSE(count_runs_to_decide(hopeless));
  EXPECT_NE(hopeless.undecided.find("more runs do not help"), std::string::npos);
}

/// The largest cost of a job whose rank 1 is late by 10 % of the time, or why there is none.
std::string largest_of(const std::function<void(Blame&)>& change, int events = 100) {
  const auto found = find_largest_cost(judged({4, events, 0, rank_one_late(0.1)}, change));
  if (const auto* why = std::get_if<Unsupported>(&found)) return why->reason;
  const auto& cost = std::get<LargestCost>(found);
  return std::to_string(std::lround(100 * cost.least)) + " to " +
         std::to_string(std::lround(100 * cost.most)) + " % by " + cost.who;
}

TEST(LargestCost, IsThatOfARankOrLinkWithItsInterval) {
  EXPECT_EQ(largest_of({}), "10 to 10 % by rank 1 (processors 1) on h1");
  EXPECT_EQ(largest_of([](Blame& of) { of.ranks[2].high_s = 30, of.ranks[2].low_s = -30; }),
            "10 to 30 % by rank 2 (processors 2) on h2");
  const auto with_links = [](double network, const Blame::Links& links) {
    return largest_of([&](Blame& of) { of.network_s = network, of.links = links; });
  };
  EXPECT_EQ(with_links(60, {1 << 20, 0.01, {{"h2", 2.0}}}), "30 to 30 % by the link h2");
  EXPECT_EQ(with_links(10, {1 << 20, 0.01, {{"h2", 2.0}}}),
            "10 to 10 % by rank 1 (processors 1) on h1");
}

TEST(LargestCost, IsNoneWhereSomethingWasNotMeasured) {
  EXPECT_EQ(largest_of({}, 15), "15 collectives are too few (at least 16)");
  EXPECT_EQ(largest_of([](Blame& of) { of.unsupported = "why"; }), "why");
  EXPECT_EQ(largest_of([](Blame& of) { of.network_s = 10; }),
            "10.0 % of the time is in the network, but its links were not measured");
  EXPECT_EQ(largest_of([](Blame& of) {
              of.network_s = 10;
              of.links = Blame::Links{0, 0, {}, "", "two hosts"};
            }),
            "10.0 % of the time is in the network, but its links were not measured (two hosts)");
  // There are none inside of a host.
  EXPECT_EQ(largest_of([](Blame& of) {
              of.network_s = 10;
              for (Blame::Rank& rank : of.ranks) rank.host = "h";
            }),
            "10 to 10 % by rank 1 (processors 1) on h");
}

TEST(Blame, ItStandsInARowAsItIs) {
  Blame blame = judged({3, 100, 1e-6, rank_one_late(0.1)}, [](Blame& of) {
    of.period = "a test";
    of.network_s = 30;
    of.links = Blame::Links{1 << 20, 0.01, {{"h0+h2", 3.0}}, "mpi"};
    of.ranks[0].ready_s.reset();
  });
  const nlohmann::json json = blame;
  EXPECT_EQ(nlohmann::json(json.get<Blame>()), json);
  EXPECT_EQ(json.at("blamed").size(), 2U);
  EXPECT_TRUE(json.at("blamed").at(0).at("rank").is_null());  // the link costs more
  EXPECT_EQ(json.at("blamed").at(1).at("rank"), 1);
  blame.links = Blame::Links{0, 0, {}, "", "why"};
  const nlohmann::json without = blame;
  EXPECT_EQ(without.at("links"), (nlohmann::json{{"unsupported", "why"}}));
  EXPECT_EQ(nlohmann::json(without.get<Blame>()), without);
  Blame none;
  none.unsupported = "why";
  const nlohmann::json reason = none;
  EXPECT_EQ(reason, (nlohmann::json{{"unsupported", "why"}}));
  EXPECT_EQ(nlohmann::json(reason.get<Blame>()), reason);
}

/// Rates at which ranks of simulated jobs are blamed. Their noise was measured (blame_noise.hpp):
/// each has another part of the record.
struct Simulation {
  int ranks = 2;
  double quiet = 1;            ///< factor of the noise
  double late = 0;             ///< of rank 1, as a part of a step
  double share_of_events = 1;  ///< in which it is late, by so much more
};
struct Counted {
  int right = 0, wrong = 0;  ///< jobs in which rank 1 alone, or any other, was blamed
};
Counted count(int trials, const Simulation& of) {
  constexpr int events = 4000;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  Counted counted;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<std::size_t> at;
    for (int rank = 0; rank < of.ranks; ++rank) at.push_back(random() % std::size(noise));
    const Blame blame = judged(
        {of.ranks, events, 1e-5, [&](int rank, int event) {
           std::size_t& place = at[static_cast<std::size_t>(rank)];
           // Parts of ten steps in a row.
           place = event % 10 == 0 ? random() % std::size(noise) : (place + 1) % std::size(noise);
           const bool hit = rank == 1 && unit(random) < of.share_of_events;
           return 1e-4 * of.quiet * noise[place] + (hit ? of.late / of.share_of_events : 0);
         }});
    const bool named = blame.blamed.size() == 1 && blame.blamed[0].rank == 1;
    counted.right += named ? 1 : 0;
    counted.wrong += !blame.blamed.empty() && !named ? 1 : 0;
  }
  return counted;
}

TEST(Blame, OfHealthyRanksAtMostOneJobInAHundredIsBlamed) {
  for (const int ranks : {2, 4, 8}) {
    const Counted counted = count(400, {ranks});
    EXPECT_LE(counted.right + counted.wrong, 4) << ranks;
  }
}

TEST(Blame, NinetyNineOfAHundredDelaysOfThreePercentAreNamed) {
  // If ranks vary by more than a delay, others are often later, and it costs less than its length:
  // so jobs of more than two ranks have a tenth of the noise.
  for (const Simulation& of : {Simulation{2, 1, 0.031, 1}, Simulation{2, 1, 0.031, 0.5},
                               Simulation{4, 0.1, 0.031, 1}, Simulation{8, 0.1, 0.031, 0.5}}) {
    const Counted counted = count(200, of);
    EXPECT_GE(counted.right, 198) << of.ranks << " " << of.share_of_events;
    EXPECT_LE(counted.wrong, 2) << of.ranks << " " << of.share_of_events;
  }
}

}  // namespace test_blame
}  // namespace assay
