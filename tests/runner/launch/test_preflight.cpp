// The pre-flight: each way in which started processes can differ from what was asked for.
#include "runner/launch/preflight.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace test_preflight {

const ProcessShape two_by_two{.nodes = 2, .ranks_per_node = 2, .threads = 2, .bind = "core"};

std::vector<PlacedProcess> as_asked() {
  return {{"a", 0, 4, {0, 1}, {0}, {0}, "", ""},
          {"a", 1, 4, {2, 3}, {0}, {0}, "", ""},
          {"b", 2, 4, {0, 1}, {0}, {0}, "", ""},
          {"b", 3, 4, {2, 3}, {0}, {0}, "", ""}};
}

std::string fault(std::vector<PlacedProcess> found, const ProcessShape& shape = two_by_two) {
  return find_placement_fault(shape, found);
}

TEST(PreFlight, FindsNothingWhereAllIsAsAskedFor) { EXPECT_EQ(fault(as_asked()), ""); }

TEST(PreFlight, CountsProcessesAndNodes) {
  auto found = as_asked();
  found.pop_back();
  EXPECT_EQ(fault(found), "3 processes were started, 4 were requested");
  found = as_asked();
  for (auto& process : found) process.size = 1, process.rank = 0;
  EXPECT_NE(fault(found).find("found 1 process, not 4"), std::string::npos);
  found = as_asked();
  found[3].rank = 2;
  EXPECT_EQ(fault(found), "two processes have the rank 2");
  found = as_asked();
  found[2].host = found[3].host = "a";
  EXPECT_EQ(fault(found), "the processes are on 1 node, 2 were requested");
  found = as_asked();
  found[1].host = "b";
  EXPECT_EQ(fault(found), "1 process is on a, 2 were requested");
}

TEST(PreFlight, FindsAProcessOnANodeThatWasNotNamed) {
  ProcessShape named = two_by_two;
  named.hosts = "a.cluster:2,b";
  EXPECT_EQ(fault(as_asked(), named), "");
  named.hosts = "a,c";
  EXPECT_EQ(fault(as_asked(), named), "rank 2 on b, but the requested nodes are a,c");
}

TEST(PreFlight, ReadsTheBindingBack) {
  auto found = as_asked();
  found[1].cores = {0, 1};
  EXPECT_EQ(fault(found), "ranks 0 and 1 on a are both bound to core 0");
  found = as_asked();
  found[2].cores = {0, 1, 2, 3};
  EXPECT_EQ(fault(found), "rank 2 on b may use the cores 0,1,2,3, but should be bound to 2");
  found = as_asked();
  found[2].cores = {0};
  EXPECT_EQ(fault(found), "rank 2 on b may use 1 core (0), 2 were requested");
  found = as_asked();
  found[0].threads_fault = "the team has 1 thread";
  EXPECT_EQ(fault(found), "rank 0 on a cannot have 2 threads: the team has 1 thread");
  found = as_asked();
  found[3].device_fault = "no backend reaches it";
  EXPECT_EQ(fault(found), "rank 3 on b: no backend reaches it");
}

TEST(PreFlight, KnowsWhatNumaSocketAndNoneMean) {
  auto found = as_asked();
  found[1].cores = {0, 1, 2, 3};
  found[1].numa_nodes = {0, 1};
  ProcessShape shape = two_by_two;
  shape.bind = "none";
  EXPECT_EQ(fault(found, shape), "");
  shape.bind = "socket";
  EXPECT_EQ(fault(found, shape), "");
  shape.bind = "numa";
  EXPECT_EQ(fault(found, shape),
            "rank 1 on a may use the NUMA nodes 0,1, but should be bound to one");
}

TEST(PreFlight, TrustsNoBindingThatCannotBeReadBack) {
  auto found = as_asked();
  found[1] = {"a", 1, 4, {}, {}, {}, "", "", "hwloc cannot read the topology: No such file"};
  for (const auto& [bind, what] : {std::pair{"core", "cores"}, std::pair{"numa", "NUMA nodes"},
                                   std::pair{"socket", "sockets"}}) {
    ProcessShape shape = two_by_two;
    shape.bind = bind;
    EXPECT_EQ(fault(found, shape),
              std::string("the ") + what +
                  " that rank 1 on a may use cannot be read back (hwloc cannot read the topology: "
                  "No such file)");
  }
  ProcessShape shape = two_by_two;
  for (const char* bind : {"none", ""}) {
    shape.bind = bind;
    EXPECT_EQ(fault(found, shape), "") << "no binding was requested";
  }
  found[1].binding_fault = "";
  EXPECT_NE(fault(found).find("(hwloc finds none)"), std::string::npos);
}

TEST(PreFlight, FindsRanksThatCrowdTheirCores) {
  for (const char* bind : {"numa", "socket"}) {
    const ProcessShape shape{.nodes = 1, .ranks_per_node = 4, .threads = 2, .bind = bind};
    std::vector<PlacedProcess> found;
    for (int rank = 0; rank < 4; ++rank)
      found.push_back({"a", rank, 4, {0, 1, 2, 3}, {0}, {0}, "", ""});
    EXPECT_EQ(fault(found, shape),
              "the 4 ranks on a may use 4 cores together (0,1,2,3), 8 were requested");
    for (int rank = 2; rank < 4; ++rank)
      found[static_cast<std::size_t>(rank)] = {"a", rank, 4, {4, 5, 6, 7}, {1}, {1}, "", ""};
    EXPECT_EQ(fault(found, shape), "") << "two share each part, with a core for each thread";
    found[2] = {"a", 2, 4, {0, 1, 2, 3}, {0}, {0}, "", ""};
    EXPECT_EQ(fault(found, shape),
              "3 ranks on a are bound to the same 4 cores (0,1,2,3), 6 were requested");
  }
  // Each rank needs a core if there are no numbers of threads.
  const ProcessShape bare{.nodes = 1, .ranks_per_node = 2, .bind = "socket"};
  EXPECT_NE(fault({{"a", 0, 2, {0}, {0}, {0}, "", ""}, {"a", 1, 2, {0}, {0}, {0}, "", ""}}, bare),
            "");
}

TEST(PreFlight, ReadsItsLinesAmongThoseOfALauncher) {
  const PlacedProcess one{"a", 3, 4, {0, 1}, {0}, {1}, "few", "none", "unknown"};
  const auto found = read_placed_processes("srun: hello\n" + make_line(one) +
                                           "0: " + make_line(one) + "assay-placement {\"host\"\n");
  ASSERT_EQ(found.size(), 2U) << "a torn line counts as a missing process";
  EXPECT_EQ(make_line(found[1]), make_line(one));
  EXPECT_TRUE(read_placed_processes("assay-placement {}\n").empty());
  EXPECT_TRUE(
      read_placed_processes("assay-placement {\"host\":\"a\",\"rank\":0,\"size\":1}\n").empty())
      << "whoever leaves its faults out has not looked for them";
}

}  // namespace test_preflight
}  // namespace assay
