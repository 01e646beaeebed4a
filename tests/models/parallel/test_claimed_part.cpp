// The update of one part, as its operation makes it and as the case says.

#include "models/parallel/claimed_part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/program/suite.hpp"
#include "models/network/parameters.hpp"
#include "models/network/parity.hpp"
#include "models/resnet50/benchmark.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_claimed_part {

StepClaims claims_of(const std::string& optimizer) {
  const std::map<std::string, std::vector<std::string>> flags{
      {"problem", {"d18w8s32c10"}}, {"optimizer", {optimizer}}, {"weight_decay", {"0.01"}}};
  return StepClaims(expand(resnet50_benchmark(), flags, network_test::plugins()).at(0).settings);
}

/// The finding about two updates of the second of three parts. `change` makes what is claimed
/// wrong.
std::string found(const std::string& optimizer,
                  const std::function<void(ClaimedPartUpdate&)>& change = {}) {
  constexpr double rate = 0.02, scale = 8;
  const auto ranks = make_serial_communicator();
  TrainerSettings settings = network_test::small_settings("native");
  settings.learning.rule = parse_name<UpdateRule>(optimizer);
  settings.learning.weight_decay = 0.01;
  settings.executor.threads = 1;
  if (optimizer.ends_with("rmsprop")) settings.learning.momentum = 0;  // as the programs have it
  const auto trainer = network_test::made(settings, *ranks);
  load_random(*trainer, 3);
  trainer->make_gradients();
  const Graph& graph = trainer->graph();
  const WeightsPart part = cut_weights(graph, 3).at(1);
  auto made = PartUpdate::make(*trainer, part, network_test::plugins());
  auto& update = *std::get<std::unique_ptr<PartUpdate>>(made);
  update.begin(*trainer);
  const StepClaims claims = claims_of(optimizer);
  const std::vector<double> gradient = read_values(trainer->executor(), graph.gradients);
  const auto* const at =
      static_cast<const std::byte*>(trainer->executor().memory(graph.gradients).get()) +
      update.element(part.first);
  for (std::int64_t number = 1; number <= 2; ++number) {
    const PartValues before = PartValues::read(update);
    std::memcpy(update.gradient(0).data, at, update.bytes());
    EXPECT_TRUE(update.apply(0, rate, scale));
    ClaimedPartUpdate of{claims, graph, part, rate, scale, number, gradient};
    if (change) change(of);
    std::int64_t checked = 0;
    if (std::string why = find_fault_of_update(of, before, PartValues::read(update), checked);
        !why.empty())
      return why;
    EXPECT_GT(checked, 100);
  }
  return "";
}

TEST(ClaimedPart, ARightUpdateOfEachRuleIsAccepted) {
  for (const std::string& rule : list_names<UpdateRule>()) EXPECT_EQ(found(rule), "") << rule;
}

TEST(ClaimedPart, OtherUpdatesAreFound) {
  for (const std::string& rule : list_names<UpdateRule>())
    EXPECT_NE(found(rule, [](ClaimedPartUpdate& of) { of.rate /= 2; }), "") << rule;
  for (const char* rule : {"sgd", "larc", "rmsprop"}) {
    EXPECT_NE(found(rule, [](ClaimedPartUpdate& of) { of.scale = 4; }), "") << rule;
    EXPECT_NE(found(rule,
                    [](ClaimedPartUpdate& of) {
                      static std::vector<double> shifted;
                      shifted.assign(of.gradient.begin(), of.gradient.end());
                      std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
                      of.gradient = shifted;
                    }),
              "")
        << rule;
  }
  EXPECT_NE(found("adam", [](ClaimedPartUpdate& of) { of.number += 3; }), "");
}

}  // namespace test_claimed_part
}  // namespace assay
