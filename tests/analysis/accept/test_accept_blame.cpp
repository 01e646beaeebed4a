// The limit of what a rank or a link of a job may cost.

#include <gtest/gtest.h>

#include "accept/accept_data.hpp"

namespace assay {
namespace test_accept_blame {

using namespace test;

/// A job of four ranks, of which rank 2 costs so much, with an interval of so much on each side.
Blame blame_with(double cost, double half) {
  Blame blame;
  blame.period = "the timed steps";
  blame.events = blame.runs = 100;
  blame.seconds = 10;
  for (int rank = 0; rank < 4; ++rank) {
    Blame::Rank& of = blame.ranks.emplace_back();
    of.rank = rank;
    of.host = "n0" + std::to_string(rank / 2);
    of.place = "processors 0";
    of.cost_s = rank == 2 ? 10 * cost : 0;
    of.low_s = of.cost_s - 10 * half;
    of.high_s = of.cost_s + 10 * half;
  }
  judge(blame);
  return blame;
}

/// The verdict, and why, of a job with these tables, one of each launch, at a limit of 5 %.
std::string verdict(const std::vector<std::optional<Blame>>& launches) {
  const json limits = {
      {"absolute", {{{"rows", "^conv/"}, {"quantity", "blame"}, {"at_most", 0.05}}}}};
  const Criteria rules = make_criteria(limits);
  NamedResult result = node(0, {});
  for (std::size_t i = 0; i < launches.size(); ++i) {
    Row row = json(test::row("ok", 1, static_cast<int>(i))).get<Row>();
    row.blame.reset();
    if (launches[i]) row.blame = *launches[i];
    keep_for_acceptance(rules)(row, "", {});
    result.result.rows.push_back(row);
  }
  const json document = judge({result}, limits);
  const json& of = find_node(document, 0)["rows"][0];
  return of["verdict"].get<std::string>() +
         (of["reason"].is_string() ? ": " + of["reason"].get<std::string>() : "");
}

TEST(AcceptBlame, TheUpperEndOfTheWidestIntervalIsLimited) {
  EXPECT_EQ(verdict({blame_with(0, 0.01)}), "PASS");
  EXPECT_EQ(verdict({blame_with(0.03, 0.01)}), "PASS");
  EXPECT_EQ(verdict({blame_with(0.08, 0.01)}),
            "PERF-FAIL: blame is 9 % (rank 2 (processors 0) on n01), 80 % above the limit of 5 %");
  // Nobody is blamed, but the limit may be exceeded.
  EXPECT_EQ(
      verdict({blame_with(0, 0.06)}),
      "MISSING: blame is 6 % (rank 0 (processors 0) on n00), 20 % above the limit of 5 %, and "
      "may be below it by chance: measure more runs");
}

TEST(AcceptBlame, ASlowLinkIsNamed) {
  Blame blame = blame_with(0, 0.01);
  blame.network_s = 4;
  blame.links = Blame::Links{1 << 20, 0.01, {{"n01", 2}}, "mpi"};
  judge(blame);
  EXPECT_EQ(verdict({blame}),
            "PERF-FAIL: blame is 20 % (the link n01), 300 % above the limit of 5 %");
  blame.links->slow.clear();
  EXPECT_EQ(verdict({blame}), "PASS");
}

TEST(AcceptBlame, WhatWasNotMeasuredNeverPasses) {
  Blame few = blame_with(0, 0);
  few.events = few.runs = 15;
  judge(few);
  EXPECT_EQ(verdict({few}), "MISSING: 15 collectives are too few (at least 16)");
  Blame network = blame_with(0, 0);
  network.network_s = 0.4;
  EXPECT_EQ(verdict({network}),
            "MISSING: 4.0 % of the time is in the network, but its links were not measured");
  network.links = Blame::Links{0, 0, {}, "", "two hosts"};
  EXPECT_TRUE(has(verdict({network}), "MISSING: ") && has(verdict({network}), "(two hosts)"));
  network.network_s = 0.2;
  EXPECT_EQ(verdict({network}), "PASS");
  Blame none;
  none.unsupported = "with a lag";
  EXPECT_EQ(verdict({none}), "MISSING: with a lag");
  EXPECT_EQ(verdict({std::nullopt}),
            "MISSING: the row has no table of blame (it is not of several ranks)");
  EXPECT_EQ(verdict({blame_with(0, 0), none}), "MISSING: with a lag") << "one launch says nothing";
}

TEST(AcceptBlame, OfSeveralLaunchesTheMedianIsLimited) {
  EXPECT_EQ(verdict({blame_with(0, 0.01), blame_with(0, 0.01), blame_with(0.08, 0.01)}), "PASS");
  EXPECT_TRUE(has(verdict({blame_with(0.09, 0.01), blame_with(0.08, 0.01), blame_with(0, 0)}),
                  "PERF-FAIL: blame is 9 % (rank 2"));
}

}  // namespace test_accept_blame
}  // namespace assay
