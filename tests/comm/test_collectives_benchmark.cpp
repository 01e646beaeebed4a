#include "comm/collectives_benchmark.hpp"

#include <gtest/gtest.h>

#include "assay/test_paths.hpp"
#include "core/base/error.hpp"
#include "core/program/options.hpp"
#include "core/program/suite.hpp"

namespace assay {
namespace test_collectives_benchmark {

class CollectivesBenchmarkTest : public testing::Test {
 protected:
  std::vector<Case> cases(const std::map<std::string, std::vector<std::string>>& chosen,
                          const RankCount& started = {4, 2}) {
    return expand(benchmark_, chosen, plugins_, false, started);
  }
  std::string message(const std::map<std::string, std::vector<std::string>>& chosen) {
    try {
      cases(chosen);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  }

  CollectivesBenchmark benchmark_;
  Plugins plugins_{{std::filesystem::path(ASSAY_BUILD_DIR) / "lib/assay"}};
};

TEST_F(CollectivesBenchmarkTest, TheIdNamesRanksAndNodes) {
  EXPECT_EQ(cases({{"bytes", {"400000"}}}).at(0).id,
            "collectives/allreduce/fp32/mpi/library/400000/r4/n2");
  const std::vector<Case> imposed =
      cases({{"bytes", {"4"}}, {"ranks_per_node", {"3"}}, {"placement", {"in_place"}}}, {4, 1});
  EXPECT_EQ(imposed.at(0).id,
            "collectives/allreduce/fp32/mpi/library/4/r4/n2/placement=in_place/ranks_per_node=3");
  EXPECT_EQ(imposed.at(0).settings.at("nodes"), "2");
}

TEST_F(CollectivesBenchmarkTest, NcclIsOfTheGpuAndAllTransportsAreOneTable) {
  const std::vector<Case> all = cases({{"bytes", {"4"}}, {"transport", {"mpi", "nccl"}}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].settings.at("device"), "cpu");
  EXPECT_EQ(all[1].settings.at("device"), "gpu");
}

TEST_F(CollectivesBenchmarkTest, AnOptionWithoutAUseIsRefusedByItsName) {
  using Chosen = std::map<std::string, std::vector<std::string>>;
  const auto said = [&](const Chosen& chosen) -> std::string {
    try {
      expand(benchmark_, chosen, plugins_, false, {4, 2}, UnusedValues::refused);
      return "accepted";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::vector<std::pair<Chosen, std::string>> useless{
      {{{"fusion", {"4M"}}}, "--fusion 4M has no use here"},
      {{{"compute", {"0.2"}}}, "--compute 0.2 has no use here"},
      {{{"replay", {"resnet50"}}, {"progress", {"polled"}}}, "--progress polled has no use here"},
      {{{"collective", {"allgather"}}, {"bytes", {"64"}}, {"op", {"max"}}},
       "--op max has no use here"},
      {{{"root", {"1"}}}, "--root 1 has no use here"},
      {{{"collective", {"barrier"}}, {"precision", {"fp64"}}}, "--precision fp64 has no use here"},
      {{{"transport", {"nccl"}}, {"device", {"cpu"}}}, "--device cpu has no use here"},
      {{{"fusion", {"0", "64"}}}, "--fusion 64 has no use here"}};
  for (const auto& [chosen, part] : useless) {
    EXPECT_NE(said(chosen).find(part), std::string::npos) << said(chosen);
    EXPECT_NO_THROW(cases(chosen)) << "in a suite";
  }
  for (const Chosen& useful : std::vector<Chosen>{
           {{"replay", {"resnet50"}}, {"fusion", {"4M"}}},
           {{"replay", {"resnet50"}}, {"compute", {"0.20"}}, {"progress", {"polled"}}},
           {{"collective", {"allreduce", "broadcast"}}, {"root", {"1"}}},
           {{"collective", {"allgather"}}, {"bytes", {"64"}}, {"op", {"sum"}}, {"root", {"0"}}},
           {{"compute", {"0.0"}}, {"fusion", {"0"}}},
           {{"collective", {"broadcast"}}, {"placement", {"all"}}},
           {{"transport", {"nccl"}}, {"device", {"gpu"}}}})
    EXPECT_EQ(said(useful), "accepted");
}

TEST_F(CollectivesBenchmarkTest, FlagsAreWrittenWithDashesOrAsInASuite) {
  for (const char* flag : {"--ranks-per-node", "--ranks_per_node"}) {
    const char* words[] = {"assay-collectives", flag, "2"};
    int exit = -1;
    const RunRequest request = parse_benchmark_options(benchmark_, 3, words, exit);
    EXPECT_EQ(request.chosen.at("ranks_per_node"), std::vector<std::string>{"2"}) << flag;
  }
}

TEST_F(CollectivesBenchmarkTest, SizesHaveOneForm) {
  EXPECT_EQ(benchmark_.canonical("64KiB"), "65536");
  EXPECT_EQ(benchmark_.canonical("16MiB"), "16777216");
  EXPECT_EQ(benchmark_.canonical("8K"), "8192");
  EXPECT_EQ(benchmark_.canonical("1G"), "1073741824");
  EXPECT_EQ(benchmark_.canonical("n100000"), "n100000");
  EXPECT_THROW(benchmark_.canonical("-4"), InputError);
  EXPECT_THROW(benchmark_.canonical("4KB"), InputError);
  EXPECT_THROW(benchmark_.canonical(""), InputError);
  EXPECT_THROW(benchmark_.canonical("99999999999999999999"), InputError);
  // Bytes and elements of one work are one case.
  const std::vector<Case> both = cases({{"bytes", {"400000", "n100000", "coral2"}}});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].names, std::vector<std::string>{"coral2/100000"});
  EXPECT_EQ(cases({{"bytes", {"n100"}}, {"precision", {"fp64"}}}).at(0).settings.at("problem"),
            "800");
  EXPECT_EQ(cases({{"problem", {"deepbench"}}}).size(), 7u);
  EXPECT_EQ(cases({{"problem", {"4"}}, {"bytes", {"8"}}}).size(), 2u) << "two names of one axis";
}

TEST_F(CollectivesBenchmarkTest, ARangeOfSizesIsOneCaseForEachSize) {
  std::vector<std::string> sizes;
  for (const Case& wanted : cases({{"bytes", {"8:64K:8"}}}))
    sizes.push_back(wanted.settings.at("problem"));
  EXPECT_EQ(sizes, (std::vector<std::string>{"8", "64", "512", "4096", "32768"}));
  EXPECT_EQ(cases({{"bytes", {"8:64M:2"}}}).size(), 24u);
  EXPECT_NE(message({{"bytes", {"64:8:2"}}}).find("FROM is 0 or larger than TO"),
            std::string::npos);
}

TEST_F(CollectivesBenchmarkTest, TheFlagOfTheTransportInsideANodeIsIntraNode) {
  const Case wanted = cases({{"bytes", {"4"}}, {"intra_node", {"shared_memory"}}}).at(0);
  EXPECT_EQ(wanted.settings.at("inside"), "shared_memory");
  EXPECT_NE(wanted.id.find("/inside=shared_memory"), std::string::npos) << wanted.id;
  const char* words[] = {"assay-collectives", "--intra-node", "shared_memory"};
  int exit = -1;
  EXPECT_EQ(parse_benchmark_options(benchmark_, 3, words, exit).chosen.at("inside"),
            std::vector<std::string>{"shared_memory"});
}

TEST_F(CollectivesBenchmarkTest, WhatHasNoMeaningIsOneCase) {
  EXPECT_EQ(cases({{"collective", {"barrier"}},
                   {"op", {"sum", "max"}},
                   {"bytes", {"4", "8"}},
                   {"precision", {"fp32", "fp64"}},
                   {"placement", {"in_place", "out_of_place"}}})
                .size(),
            1u);
  EXPECT_EQ(cases({{"collective", {"allgather"}}, {"op", {"all"}}, {"bytes", {"16"}}}).size(), 1u);
  EXPECT_EQ(cases({{"collective", {"allreduce"}}, {"op", {"all"}}, {"bytes", {"16"}}}).size(), 4u);
  EXPECT_EQ(
      cases({{"collective", {"broadcast"}}, {"placement", {"all"}}, {"bytes", {"16"}}}).size(), 1u);
}

TEST_F(CollectivesBenchmarkTest, AllStandsForEveryValue) {
  const std::vector<Case> all = cases({{"algorithm", {"all"}}, {"bytes", {"4"}}});
  EXPECT_GE(all.size(), 5u);
  std::set<std::string> names;
  for (const Case& wanted : all) names.insert(wanted.settings.at("algorithm"));
  EXPECT_TRUE(names.contains("library"));
  EXPECT_TRUE(names.contains("ring"));
}

TEST_F(CollectivesBenchmarkTest, WhatCannotBeIsRefusedWithTheReason) {
  EXPECT_NE(message({{"bytes", {"6"}}}).find("not a whole number of elements"), std::string::npos);
  EXPECT_NE(message({{"bytes", {"4"}}, {"collective", {"alltoall"}}}).find("for each of 4 ranks"),
            std::string::npos);
  EXPECT_NE(message({{"root", {"4"}}, {"collective", {"reduce"}}}).find("(0 to 3)"),
            std::string::npos);
  EXPECT_NE(message({{"transport", {"mpj"}}}).find("Did you mean 'mpi'"), std::string::npos);
  EXPECT_NE(message({{"ranks", {"4"}}}).find("unknown dimension"), std::string::npos)
      << "the launcher sets them";
}

}  // namespace test_collectives_benchmark
}  // namespace assay
