// Bisection: its permutations, what it finds wrong, and which links it blames.

#include "comm/bisection.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/measure/timing.hpp"
#include "tests/comm/collective_bench.hpp"

namespace assay {
namespace test_bisection {

using testing_fakes::on_threads;
using testing_fakes::rank_case;

TEST(Pairings, EveryPairMeetsOnceInTheirOrder) {
  for (const int ranks : {2, 4, 6, 16, 34}) {
    std::set<std::pair<int, int>> met;
    for (const std::vector<int>& partners : make_pairings(ranks, ranks - 1))
      for (int rank = 0; rank < ranks; ++rank) {
        const int partner = partners[static_cast<std::size_t>(rank)];
        ASSERT_NE(partner, rank);
        ASSERT_EQ(partners[static_cast<std::size_t>(partner)], rank);
        EXPECT_TRUE(met.emplace(rank, partner).second) << rank << " " << partner;
      }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(ranks * (ranks - 1)));
  }
  EXPECT_EQ(make_pairings(34, 15), make_pairings(34, 15));
  EXPECT_EQ(choose_default_rounds(4), 3);
  EXPECT_EQ(choose_default_rounds(1000), 15);
}

/// The times of all pairs of hosts, each 1 s but for what `slow` says.
template <class Slow>
LinkFindings found(int hosts, int rounds, const Slow& slow) {
  std::vector<PairTime> pairs;
  for (const std::vector<int>& partners : make_pairings(hosts, rounds))
    for (int a = 0; a < hosts; ++a)
      if (const int b = partners[static_cast<std::size_t>(a)]; a < b)
        pairs.push_back({a, b, slow(a, b)});
  std::vector<std::string> names;
  for (int host = 0; host < hosts; ++host) names.push_back("h" + std::to_string(host));
  return judge_links(pairs, names);
}
std::vector<std::string> names(const LinkFindings& of) {
  std::vector<std::string> all;
  for (const LinkFindings::Slow& link : of.slow) all.push_back(link.name);
  return all;
}

TEST(Links, OneSlowHostOrPathIsNamedAndNoOther) {
  using Names = std::vector<std::string>;
  for (const int hosts : {4, 6, 16, 64}) {
    const int rounds = choose_default_rounds(hosts);
    const auto met = make_pairings(hosts, rounds);
    const int partner = met[0][2];
    EXPECT_EQ(names(found(hosts, rounds, [](int, int) { return 1.0; })), Names{});
    EXPECT_EQ(names(found(hosts, rounds, [](int a, int b) { return a == 2 || b == 2 ? 2 : 1.2; })),
              Names{"h2"});
    const LinkFindings path = found(hosts, rounds, [&](int a, int b) {
      return std::minmax(a, b) == std::minmax(2, partner) ? 2 : 1.1;
    });
    const std::string other = "h" + std::to_string(partner);
    EXPECT_EQ(names(path), Names{other < "h2" ? other + "+h2" : "h2+" + other});
    EXPECT_EQ(std::set<int>({path.slowest.a, path.slowest.b}), std::set<int>({2, partner}));
    EXPECT_NEAR(path.typical, 1.1, 1e-12);
  }
}

TEST(Links, ASlowHostDoesNotMakeASlowerPairTypical) {
  // Three of the six pairs of four hosts are slow, and one of the others is slower by chance.
  const LinkFindings of = found(4, 3, [](int a, int b) {
    return a == 2 || b == 2 ? 2 : a == 0 && b == 1 ? 1.4 : 1.0;
  });
  EXPECT_EQ(names(of), std::vector<std::string>{"h2"});
  EXPECT_EQ(of.typical, 1);
}

TEST(Links, RanksOfOneHostAreNumbersAndPairsInsideOfAHostDoNotCount) {
  const std::vector<PairTime> pairs{{0, 1, 1}, {2, 3, 1}, {0, 2, 1},
                                    {1, 3, 1}, {0, 3, 1}, {1, 2, 3}};
  EXPECT_EQ(names(judge_links(pairs, {"h", "h", "h", "h"})),
            std::vector<std::string>{"rank1+rank2"});
  // Two hosts have the ranks 0 and 1, 2 and 3. The pairs inside are ten times as fast.
  const std::vector<PairTime> mixed{{0, 1, .1}, {2, 3, .1}, {0, 2, 1},
                                    {1, 3, 1},  {0, 3, 1},  {1, 2, 1}};
  EXPECT_EQ(names(judge_links(mixed, {"a", "a", "b", "b"})), std::vector<std::string>{});
  EXPECT_EQ(judge_links({}, {"a"}).typical, 0);
}

TEST(Links, FewerThanFourEndsAreNotJudgedAndANameComesOnce) {
  EXPECT_FALSE(judge_links({{0, 1, 9}}, {"a", "b"}).judged);
  const std::vector<PairTime> of_two{{0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 3, 9}};
  EXPECT_FALSE(judge_links(of_two, {"a", "a", "b", "b"}).judged);
  EXPECT_EQ(names(judge_links(of_two, {"a", "a", "b", "b"})), std::vector<std::string>{});
  // Two ranks on each of four hosts; all four pairs of the first two hosts are slow.
  std::vector<PairTime> pairs;
  for (int a = 0; a < 8; ++a)
    for (int b = a + 1; b < 8; ++b) pairs.push_back({a, b, b < 4 ? 3. + .1 * b : 1});
  const LinkFindings found = judge_links(pairs, {"a", "a", "b", "b", "c", "c", "d", "d"});
  EXPECT_TRUE(found.judged);
  EXPECT_EQ(names(found), std::vector<std::string>{"a+b"});
  EXPECT_NEAR(found.slow.at(0).ratio, 3.3, 1e-12);
}

CollectiveShape four() {
  CollectiveShape shape;
  shape.pattern = Pattern::bisection;
  shape.ranks = 4;
  shape.rounds = 3;
  shape.bytes = 4096;
  return shape;
}

/// Sends what it should, but for one message to the wrong rank's taste: its last element differs.
class WrongSender final : public ForwardingCommunicator {
 public:
  WrongSender(Communicator& under, int victim) : ForwardingCommunicator(under), victim_(victim) {}
  Request send(Buffer data, int to, int tag, Stream& stream) override {
    if (to != victim_ || rank() != 0) return under().send(data, to, tag, stream);
    copy_.assign(static_cast<std::byte*>(data.data),
                 static_cast<std::byte*>(data.data) + data.bytes());
    copy_.back() ^= std::byte{1};
    return under().send({copy_.data(), data.count, data.type}, to, tag, stream);
  }

 private:
  int victim_;
  std::vector<std::byte> copy_;
};

TEST(Bisection, OneWrongByteOfOnePairIsIncorrect) {
  for (const int victim : {1, 2, 3})
    on_threads(4, [&](Communicator& here) {
      const auto made = rank_case(four(), here, std::make_unique<WrongSender>(here, victim));
      EXPECT_EQ(made->workload->verify_before().passed, here.rank() != victim);
    });
}

TEST(Bisection, AllBytesOfAllPermutationsAreCheckedAndTimed) {
  on_threads(4, [&](Communicator& here) {
    const auto made = rank_case(four(), here, std::make_unique<ForwardingCommunicator>(here));
    const Verification before = made->workload->verify_before();
    EXPECT_TRUE(before.passed) << before.reason;
    EXPECT_EQ(before.checked, 3 * 1024);
    TimingOptions options;
    options.max_time = 0.001;
    EXPECT_TRUE(measure(*made->workload, here, options).audits.passed);
    EXPECT_TRUE(made->workload->verify_after().passed);
    EXPECT_EQ(made->workload->work().at("busbw"), 2 * 3 * 4096);
    const auto metrics = made->workload->metrics();
    EXPECT_GE(metrics.at("worst_permutation_s").value, metrics.at("typical_pair_s").value);
    EXPECT_GE(metrics.at("slowest_pair_s").value, metrics.at("typical_pair_s").value);
  });
}

TEST(Bisection, RefusesOddRanksAndMorePermutationsThanThereAre) {
  CollectiveShape shape = four();
  EXPECT_EQ(why_not_problem(shape), "");
  shape.rounds = 4;
  EXPECT_NE(why_not_problem(shape), "");
  shape.ranks = 3;
  shape.rounds = 1;
  EXPECT_NE(why_not_problem(shape), "");
}

}  // namespace test_bisection
}  // namespace assay
