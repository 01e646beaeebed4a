#include "core/machine/placement.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "core/base/error.hpp"

namespace assay {
namespace test_placement {

/// The processors that each thread of a team may run on.
std::vector<std::set<int>> allowed(int threads) {
  std::vector<std::set<int>> all(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &mine)) all[static_cast<std::size_t>(omp_get_thread_num())].insert(cpu);
  }
  return all;
}

TEST(Placement, EachThreadHasAHardwareThreadOfItsOwn) {
  const std::string smt = smt_levels().back();  // all of a core
  // All hardware threads, unless this process has but a part of some core.
  const std::vector<int> teams = full_teams();
  const bool whole = teams.at(0) == teams.at(1) * std::stoi(smt);
  const int threads = whole ? teams.at(0) : std::stoi(smt);
  const std::vector<std::set<int>> before = allowed(threads);
  const auto why = why_not_placed({"any", smt}, threads);
  ASSERT_FALSE(why) << *why;
  std::set<int> used;
  for (const std::set<int>& allowed_of_thread : allowed(threads)) {
    ASSERT_EQ(allowed_of_thread.size(), 1u);
    used.insert(allowed_of_thread.begin(), allowed_of_thread.end());
  }
  EXPECT_EQ(used.size(), static_cast<std::size_t>(threads));
  ASSERT_FALSE(why_not_placed({}, threads));
  EXPECT_EQ(allowed(threads), before);
}

TEST(Placement, FullTeamsFillAllAndEachNode) {
  const std::vector<int> teams = full_teams();
  ASSERT_EQ(teams.size(), 2 + 2 * numa_nodes().size());
  for (const int team : teams) EXPECT_LE(team, teams[0]);
  EXPECT_GE(teams[0], teams[1]);  // hardware threads, cores
  EXPECT_GE(teams[1], 1);
}

TEST(Placement, ANodeOfTheMachineBindsAndAnyTakesItBack) {
  ASSERT_FALSE(numa_nodes().empty());
  const std::vector<std::set<int>> before = allowed(1);
  for (const std::string& node : numa_nodes())
    for (const std::string& smt : {std::string("any"), std::string("1")}) {
      const auto why = why_not_placed({node, smt}, 1);
      ASSERT_FALSE(why) << *why;
      EXPECT_LE(allowed(1)[0].size(), smt == "1" ? 1u : before[0].size());
    }
  ASSERT_FALSE(why_not_placed({}, 1));
  EXPECT_EQ(allowed(1), before);
}

TEST(Placement, RefusesWhatTheMachineHasNot) {
  const auto said = [](const Placement& placement, int threads) {
    return why_not_placed(placement, threads).value_or("");
  };
  EXPECT_NE(said({"4000000", "any"}, 1).find("no NUMA node 4000000"), std::string::npos);
  EXPECT_NE(said({numa_nodes().front(), "any"}, 1 << 20).find("hardware threads"),
            std::string::npos);
  EXPECT_NE(said({"any", "999"}, 999).find("no core has 999"), std::string::npos);
  EXPECT_NE(said({"any", "1"}, 1 << 20).find("not a whole number of cores"), std::string::npos);
  EXPECT_THROW(why_not_placed({"first", "any"}, 1), InputError);
  EXPECT_THROW(why_not_placed({"any", "0"}, 1), InputError);
  EXPECT_THROW(why_not_placed({"any", "two"}, 1), InputError);
}

/// hwloc is told of a machine of one core with two hardware threads; the processors are this
/// machine's first two.
TEST(PlacementDeathTest, CoresOfSeveralThreadsAreFilledOneByOne) {
  const std::set<int> here = allowed(1)[0];
  if (!here.contains(0) || !here.contains(1))
    GTEST_SKIP() << "processors 0 and 1 must be this process's to pass for a core's two threads";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has read no machine yet
  const auto told = [] {
    setenv("HWLOC_SYNTHETIC", "numa:1 core:1 pu:2", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    const bool levels = smt_levels() == std::vector<std::string>{"1", "2"};
    const bool both = !why_not_placed({"any", "2"}, 2) && allowed(2)[0] != allowed(2)[1];
    const bool on_one_thread = !why_not_placed({"any", "1"}, 1) && allowed(1)[0].size() == 1;
    const bool odd = why_not_placed({"any", "2"}, 1).has_value();
    const bool second_core = why_not_placed({"any", "1"}, 2).has_value();
    std::exit(levels && both && on_one_thread && odd && second_core ? 0 : 1);
  };
  EXPECT_EXIT(told(), testing::ExitedWithCode(0), "");
}

}  // namespace test_placement
}  // namespace assay
