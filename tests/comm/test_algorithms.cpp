// Every algorithm over the tests' own transport, whose sends wait for their receives.
#include <atomic>

#include "comm/algorithms/levels.hpp"
#include "core/base/error.hpp"
#include "tests/comm/collective_check.hpp"

namespace assay {
namespace test_algorithms {

using namespace testing_comm;
using testing_fakes::on_threads;

const std::map<std::string, std::vector<Collective>>& takes() {
  static const std::map<std::string, std::vector<Collective>> all{
      {"ring", {Collective::allreduce, Collective::reduce_scatter, Collective::allgather}},
      {"halving_doubling", {Collective::allreduce}},
      {"tree", {Collective::allreduce, Collective::reduce, Collective::broadcast}},
      {"hierarchical", {Collective::allreduce}},
      {"torus2d", {Collective::allreduce}},
      {"ddl", {Collective::allreduce}},
      {"horovod_hybrid", {Collective::allreduce}},
      {"exascale_hybrid", {Collective::allreduce}},
      {"shared_memory",
       {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
        Collective::allgather, Collective::broadcast, Collective::alltoall}},
      {"library",
       {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
        Collective::allgather, Collective::broadcast, Collective::alltoall}},
  };
  return all;
}

TEST(Algorithms, AreCollectedFromTheirFiles) {
  std::vector<std::string> found, expected;
  for (const AlgorithmEntry& entry : algorithms()) {
    found.emplace_back(entry.name);
    EXPECT_FALSE(entry.help.empty());
  }
  for (const auto& [name, unused] : takes()) expected.push_back(name);
  EXPECT_EQ(found, expected);
}

/// Calls of random shapes on each rank; how many were made, to know that the test tested.
int random_calls(const std::string& name, int ranks, int per_node, const Options& options,
                 int calls, std::string* refusal = nullptr) {
  std::atomic<int> made = 0;
  on_threads(
      ranks,
      [&](Communicator& transport) {
        std::string reason;
        const auto communicator = make(name, transport, options, &reason);
        if (!communicator) {
          if (refusal && transport.rank() == 0) *refusal = reason;
          return;
        }
        std::mt19937 random(static_cast<unsigned>(ranks * 100 + per_node));
        for (int call = 0; call < calls; ++call) {
          const auto& collectives = takes().at(name);
          const Shape shape =
              random_shape(random, collectives[random() % collectives.size()], ranks);
          check(*communicator, shape, random() % 4 == 0);
          ++made;
        }
      },
      per_node);
  return made;
}

/// Only these may refuse, and only where their definition has no meaning.
bool has_meaning(const std::string& name, int ranks, int per_node) {
  if (name == "shared_memory") return per_node == 0;
  if (name == "ddl") return per_node == 0 || ranks % per_node == 0;
  if (name == "torus2d") return ranks >= 4 && ranks != 5 && ranks != 7;
  // The last node has what is left of the ranks.
  const int least = per_node == 0 ? ranks : ranks % per_node == 0 ? per_node : ranks % per_node;
  return name != "exascale_hybrid" || least >= 4;
}

class EachAlgorithm : public testing::TestWithParam<std::string> {};

/// Calls of each number of ranks; nine ranks of threads take their time on two cores.
void one_to_nine_ranks(const std::string& name, int calls) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    std::string refusal;
    const int made = random_calls(name, ranks, 0, {}, calls, &refusal);
    EXPECT_EQ(made, has_meaning(name, ranks, 0) ? calls * ranks : 0) << ranks << ": " << refusal;
    EXPECT_EQ(refusal.empty(), made > 0);
  }
}

TEST_P(EachAlgorithm, GivesTheRightResultOnOneToNineRanks) { one_to_nine_ranks(GetParam(), 16); }
TEST_P(EachAlgorithm, GivesTheRightResultOnOneToNineRanksFull) {
  one_to_nine_ranks(GetParam(), 200);
}

TEST_P(EachAlgorithm, GivesTheRightResultOnSeveralNodesEqualOrNot) {
  for (const auto& [ranks, per_node] : std::vector<std::pair<int, int>>{
           {2, 1}, {3, 2}, {4, 2}, {6, 2}, {6, 3}, {7, 3}, {8, 4}, {9, 4}, {9, 5}}) {
    std::string refusal;
    const int made = random_calls(GetParam(), ranks, per_node, {}, 12, &refusal);
    const bool means = has_meaning(GetParam(), ranks, per_node);
    EXPECT_EQ(made, means ? 12 * ranks : 0) << ranks << " " << per_node << ": " << refusal;
    static const std::map<std::string, std::string> why{
        {"shared_memory", "needs one node"},
        {"exascale_hybrid", "needs four ranks on each node"},
        {"ddl", "needs nodes with equal numbers of ranks, or --levels"},
        {"torus2d", "needs a grid of at least 2 x 2"}};
    if (!means) {
      EXPECT_NE(refusal.find(why.at(GetParam())), std::string::npos) << refusal;
    }
  }
}

TEST_P(EachAlgorithm, GivesTheRightResultInManySegments) {
  for (const auto& both : std::vector<std::pair<int, int>>{{2, 0}, {3, 0}, {5, 0}, {8, 4}}) {
    const int ranks = both.first, per_node = both.second;  // clang 14 captures no binding
    on_threads(
        ranks,
        [&](Communicator& transport) {
          const auto communicator = make(GetParam(), transport);
          ASSERT_EQ(communicator != nullptr, has_meaning(GetParam(), ranks, per_node));
          if (!communicator) return;
          for (const Collective what : takes().at(GetParam())) {
            // Two segments of 256 KiB and a rest, in each part and each message.
            const bool parts = what == Collective::reduce_scatter ||
                               what == Collective::allgather || what == Collective::alltoall;
            const std::int64_t words = parts ? 150011 : 600011, halves = parts ? 270007 : 500009;
            for (const bool in_place : {false, true}) {
              if (in_place && what == Collective::broadcast) continue;
              check(*communicator, {what, words, DataType::fp32, ReduceOp::sum, in_place, 1});
              check(*communicator, {what, halves, DataType::bf16, ReduceOp::max, in_place, 0});
            }
          }
        },
        per_node);
  }
}

/// Calls of four ranks, all under way before the first is waited for.
void several_calls(const std::string& name, Communicator& transport) {
  const auto communicator = make(name, transport);
  ASSERT_NE(communicator, nullptr);
  HostStream stream;
  std::vector<Shape> shapes;
  std::vector<PreparedCall> all;
  std::vector<Request> requests;
  for (const std::int64_t count : {1000, 1000, 70000, 3, 1000})
    shapes.push_back({Collective::allreduce, count, DataType::fp64, ReduceOp::sum, false, 0});
  for (const Shape& shape : shapes) all.push_back(prepared(shape, transport.rank(), 4));
  for (PreparedCall& prepared_call : all) {
    requests.push_back(communicator->start(prepared_call.call, stream));
    // Some ranks get further than others before the next one starts.
    for (int i = 0; i < 50 * transport.rank(); ++i)
      for (Request& request : requests) communicator->done(request);
  }
  // Each rank waits in an order of its own.
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t which = (i * (transport.rank() % 2 == 0 ? 1 : 4) + 2) % all.size();
    communicator->wait(requests[which]);
    EXPECT_EQ(requests[which].handle, 0u);
  }
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(wrong(all[i], shapes[i]), "") << i;
}

TEST_P(EachAlgorithm, SeveralCallsUnderWayDoNotMeet) {
  on_threads(4, [&](Communicator& transport) { several_calls(GetParam(), transport); });
}
TEST_P(EachAlgorithm, SeveralCallsUnderWayDoNotMeetWithoutTags) {
  on_threads(
      4,
      [&](Communicator& transport) {
        EXPECT_FALSE(transport.has_tags());
        several_calls(GetParam(), transport);
      },
      0, false);
}

TEST_P(EachAlgorithm, RefusesWhatItHasNotWithTheConditionThatFails) {
  on_threads(4, [&](Communicator& transport) {
    const auto communicator = make(GetParam(), transport);
    ASSERT_NE(communicator, nullptr);
    std::vector<std::int32_t> data(8);
    HostStream stream;
    const Buffer buffer{data.data(), 8, DataType::s32};
    const auto refused = [&](const Call& call, const std::string& why) {
      EXPECT_NE(communicator->why_not(call).find(why), std::string::npos)
          << communicator->why_not(call);
      EXPECT_THROW(communicator->run(call, stream), CaseError);
    };
    if (GetParam() != "library")
      refused({Collective::allreduce, buffer, buffer, ReduceOp::average, 0}, "average of integers");
    refused({Collective::allreduce, buffer, buffer.part(0, 7), ReduceOp::sum, 0},
            "allreduce of 8 into 7");
    if (takes().at(GetParam()).size() == 1)
      refused({Collective::alltoall, buffer, buffer, ReduceOp::sum, 0},
              "does not implement alltoall");
  });
}

TEST_P(EachAlgorithm, RefusesDeviceBuffersWhereItReducesOnTheHost) {
  on_threads(4, [&](Communicator& transport) {
    std::string refusal;
    Options options;
    options.settings["device"] = "gpu";
    const auto communicator = make(GetParam(), transport, options, &refusal);
    const bool passes = GetParam() == "library" || GetParam().find("hybrid") != std::string::npos;
    EXPECT_EQ(communicator != nullptr, passes);
    if (!passes) {
      EXPECT_NE(refusal.find("reduces in host memory (device=gpu)"), std::string::npos);
    }
  });
}

TEST_P(EachAlgorithm, MessagesOfItsUserPassBesideItsOwn) {
  on_threads(4, [&](Communicator& transport) {
    const auto communicator = make(GetParam(), transport);
    ASSERT_NE(communicator, nullptr);
    HostStream stream;
    float mine = static_cast<float>(transport.rank()), theirs = -1;
    const int other = transport.rank() ^ 1;
    Request received = communicator->receive({&theirs, 1, DataType::fp32}, other, 7, stream);
    check(*communicator, {Collective::allreduce, 100, DataType::fp32, ReduceOp::sum, false, 0});
    Request sent = communicator->send({&mine, 1, DataType::fp32}, other, 7, stream);
    communicator->wait(sent);
    communicator->wait(received);
    EXPECT_EQ(theirs, static_cast<float>(other));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EachAlgorithm,
                         testing::Values("ring", "halving_doubling", "tree", "hierarchical",
                                         "torus2d", "ddl", "horovod_hybrid", "exascale_hybrid",
                                         "shared_memory", "library"),
                         [](const auto& info) { return info.param; });

TEST(Ddl, TakesAnyLevelsWhoseProductIsTheRanks) {
  const auto calls = [](const std::string& levels, int ranks, int per_node, std::string* why) {
    Options options;
    options.settings["levels"] = levels;
    return random_calls("ddl", ranks, per_node, options, 24, why);
  };
  for (const auto& [levels, ranks] : std::vector<std::pair<std::string, int>>{
           {"2x2x2", 8}, {"2x4", 8}, {"4x2", 8}, {"3x3", 9}, {"1x2x1x3", 6}, {"7", 7}})
    for (const int per_node : {0, 2, 3, 4}) {  // also where nodes cut the levels
      std::string refusal;
      EXPECT_EQ(calls(levels, ranks, per_node, &refusal), 24 * ranks) << levels << refusal;
    }
  std::string refusal;
  EXPECT_EQ(calls("2x3", 8, 0, &refusal), 0);
  EXPECT_EQ(refusal, "--levels 2x3 are 6 ranks, not 8");
  for (const char* wrong : {"", "2x", "x2", "2x0", "2xa", "-2x4", "1024x1024x2"})
    EXPECT_THROW((void)read_levels(wrong), InputError) << wrong;
}

TEST(Hybrids, RunWithSharedMemoryInNcclsPlace) {
  Options options;
  options.settings["inside"] = "shared_memory";
  for (const char* name : {"horovod_hybrid", "exascale_hybrid"}) {
    EXPECT_EQ(random_calls(name, 8, 4, options, 40), 320) << name;
    EXPECT_EQ(random_calls(name, 4, 0, options, 40), 160) << name;
  }
  EXPECT_EQ(random_calls("horovod_hybrid", 7, 3, options, 40), 280);
}

}  // namespace test_algorithms
}  // namespace assay
