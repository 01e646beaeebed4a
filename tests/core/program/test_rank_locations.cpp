#include "core/program/rank_locations.hpp"

#include "core/machine/binding.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_rank_locations {

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

TEST(Places, ABuildThatOneHostHasAloneChangesTheSoftware) {
  using nlohmann::json;
  const auto told = [](const std::vector<std::string>& builds) {
    json environment;
    testing_fakes::on_threads(
        4,
        [&](Communicator& ranks) {
          const std::string& build = builds[static_cast<std::size_t>(ranks.node())];
          json own = {{"host", ranks.host()},
                      {"hardware", json::object()},
                      {"software", {{"binaries", {{"libx.so", build}}}}},
                      {"hashes", {{"hardware", "h"}, {"software", build}}}};
          // A module that one host has alone is not another build.
          own["software"]["binaries"]["of " + ranks.host()] = "build-id 9";
          add_ranks(own, ranks);
          if (ranks.rank() == 0) environment = std::move(own);
        },
        2);
    return environment;
  };
  const json same = told({"build-id 1", "build-id 1"}), mixed = told({"build-id 1", "build-id 2"}),
             other = told({"build-id 2", "build-id 1"});
  EXPECT_EQ(describe_mixed_binaries(same), "");
  EXPECT_EQ(same["hashes"]["software"], "build-id 1");
  EXPECT_EQ(mixed["software"]["binaries"]["libx.so"], "build-id 1, build-id 2");
  EXPECT_EQ(other["software"]["binaries"]["libx.so"], "build-id 1, build-id 2");
  EXPECT_NE(mixed["hashes"]["software"], "build-id 1");
  EXPECT_EQ(describe_mixed_binaries(mixed),
            "libx.so: build-id 1, build-id 2, of which threads1 has build-id 2");
}

}  // namespace test_rank_locations
}  // namespace assay
