#include "comm/layers/layers.hpp"

#include <numeric>
#include <span>

#include "comm/collectives_benchmark.hpp"
#include "core/program/suite.hpp"
#include "tests/comm/collective_bench.hpp"
#include "tests/comm/collective_check.hpp"

namespace assay {
namespace test_layers {

using testing_fakes::on_threads;
using testing_fakes::rank_case;

const CollectivesBenchmark benchmark;

std::vector<Case> cases(std::map<std::string, std::vector<std::string>> chosen) {
  Plugins plugins;
  return expand(benchmark, chosen, plugins, false, {4, 1});
}

TEST(Layers, Resnet50HasItsGradientsInTheOrderOfTheBackwardPass) {
  const std::vector<std::int64_t> counts = replay_counts(benchmark, "resnet50");
  EXPECT_EQ(counts.size(), 161u);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 25557032);
  EXPECT_EQ(counts.front(), 1000);        // fc.bias
  EXPECT_EQ(counts[1], 2048 * 1000);      // fc.weight
  EXPECT_EQ(counts.back(), 64 * 3 * 49);  // conv1.weight
  EXPECT_EQ(std::count_if(counts.begin(), counts.end(), [](auto n) { return n < 4096; }), 107);
}

TEST(Layers, StandInTheIdWhereTheyDoSomething) {
  EXPECT_EQ(
      cases({{"bytes", {"4"}}, {"fusion", {"4096"}}, {"compute", {"2"}}, {"progress", {"polled"}}})
          .at(0)
          .id,
      cases({{"bytes", {"4"}}}).at(0).id)
      << "without a replay they mean nothing";
  const Case replay = cases({{"replay", {"resnet50"}},
                             {"fusion", {"1048576"}},
                             {"compute", {"0.50"}},
                             {"progress", {"polled"}},
                             {"wire", {"bf16"}}})
                          .at(0);
  EXPECT_EQ(replay.settings.at("problem"), "102228128");
  EXPECT_EQ(replay.settings.at("compute"), "0.5");
  for (const char* part :
       {"/replay=resnet50", "/fusion=1048576", "/compute=0.5", "/progress=polled", "/wire=bf16"})
    EXPECT_NE(replay.id.find(part), std::string::npos) << replay.id;
  EXPECT_EQ(cases({{"replay", {"resnet50"}}, {"progress", {"polled"}}}).at(0).id,
            cases({{"replay", {"resnet50"}}}).at(0).id)
      << "without a computation there is nothing to poll in";
  EXPECT_THROW(cases({{"replay", {"resnet51"}}}), InputError);
  EXPECT_THROW(cases({{"replay", {"resnet50"}}, {"fusion", {"much"}}}), InputError);
  EXPECT_THROW(cases({{"replay", {"resnet50"}}, {"compute", {"-1"}}}), InputError);
  EXPECT_THROW(cases({{"replay", {"resnet50"}}, {"collective", {"broadcast"}}}), InputError);
}

/// The outcome of a case with the layers that `settings` name, over threads.
struct Told {
  Verification verification;
  Execution execution;
};
Told told(const CollectiveShape& wanted, Settings settings,
          const testing_fakes::Spoil& spoil = nullptr) {
  Told all;
  Settings layers{{"collective", "allreduce"},
                  {"replay", "none"},
                  {"fusion", "0"},
                  {"compute", "0"},
                  {"progress", "library"}};
  for (const auto& [name, value] : settings) layers[name] = value;
  const std::optional<ReplaySettings> replay = complete_layers(benchmark, layers);
  on_threads(wanted.ranks, [&](Communicator& transport) {
    Options options;
    options.settings = settings;
    auto under = std::make_unique<testing_fakes::SpoilingCommunicator>(
        transport, transport.rank() == 1 ? spoil : testing_fakes::Spoil());
    const auto rank =
        rank_case(wanted, transport, add_layers(std::move(under), options), false, replay);
    const Verification before = rank->workload->verify_before();
    double failed = before.passed ? 0 : 1;
    transport.allreduce_max(std::span(&failed, 1));
    Verification after = before;
    if (failed == 0) {
      rank->workload->run(rank->workload->stream());
      after = rank->workload->verify_after();
    }
    if (transport.rank() != 1) return;
    all.verification = after;
    all.execution = rank->workload->execution();
  });
  return all;
}

CollectiveShape shape(std::int64_t bytes) {
  CollectiveShape made;
  made.bytes = bytes;
  made.ranks = 3;
  return made;
}

TEST(Layers, AWireIsVerifiedWithinItsBoundAndItsErrorTold) {
  for (const auto& [wire, bits] : {std::pair{"fp16", 11}, std::pair{"bf16", 8}}) {
    const Told all = told(shape(40004), {{"wire", wire}});
    EXPECT_TRUE(all.verification.passed) << all.verification.reason;
    EXPECT_EQ(all.execution.wire_bits, bits);
    EXPECT_GT(all.verification.max_error, std::ldexp(1, -bits - 3));
    EXPECT_LE(all.verification.error_over_bound, 1);
  }
}

TEST(Layers, AnErrorBeyondTheWiresIsFound) {
  // Half of the value of one element of what is gathered, or more.
  const auto spoil = [](const Call& call) {
    if (call.what != Collective::allgather) return;
    static_cast<std::uint16_t*>(call.receive.data)[777] ^= 0x40;
  };
  const Told all = told(shape(40004), {{"wire", "bf16"}}, spoil);
  EXPECT_FALSE(all.verification.passed);
}

void expect_replay(const std::string& list, std::int64_t bytes, int tensors) {
  const Told all = told(shape(bytes), {{"replay", list}, {"fusion", "4194304"}});
  EXPECT_TRUE(all.verification.passed) << all.verification.reason;
  EXPECT_EQ(all.execution.numbers.at("tensors"), tensors);
  EXPECT_EQ(all.execution.numbers.at("fusion_bytes"), 4194304);
  EXPECT_EQ(all.execution.numbers.at("compute_s"), 0);
}

TEST(Layers, AReplayIsVerifiedWhole) { expect_replay("resnet50/layer4.2.bn3.bias", 8192, 1); }
TEST(LayersFull, AReplayIsVerifiedWhole) { expect_replay("resnet50", 102228128, 161); }

}  // namespace test_layers
}  // namespace assay
