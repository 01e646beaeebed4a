#include "core/program/rank_locations.hpp"

#include "core/machine/binding.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace {

TEST(Places, ABoundProcessIsOnFewerCores) {
  const Binding before = binding_of_process();
  ASSERT_FALSE(before.cores.empty());
  ASSERT_FALSE(before.sockets.empty());
  cpu_set_t all, processors;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all)) --last;
  CPU_ZERO(&processors);
  CPU_SET(last, &processors);
  ASSERT_EQ(sched_setaffinity(0, sizeof processors, &processors), 0);
  const Binding bound = binding_of_process();
  sched_setaffinity(0, sizeof all, &all);
  ASSERT_EQ(bound.cores.size(), 1u);
  EXPECT_EQ(bound.sockets.size(), 1u);
  EXPECT_TRUE(std::find(before.cores.begin(), before.cores.end(), bound.cores[0]) !=
              before.cores.end());
}

TEST(Places, EveryRankKnowsWhereAllAre) {
  testing_fakes::on_threads(
      3,
      [](Communicator& ranks) {
        const nlohmann::json all = rank_locations(ranks);
        ASSERT_EQ(all.size(), 3u);
        for (int rank = 0; rank < 3; ++rank) {
          EXPECT_EQ(all[rank]["rank"], rank);
          EXPECT_EQ(all[rank]["node"], rank / 2);
          EXPECT_EQ(all[rank]["host"], "threads" + std::to_string(rank / 2));
          EXPECT_TRUE(all[rank]["cores"].is_array());
        }
      },
      2);
}

}  // namespace
}  // namespace assay
