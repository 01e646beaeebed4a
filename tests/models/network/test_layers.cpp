// Layers of planes: the graph, its backends, and the definition of the same layers.

#include <gtest/gtest.h>

#include <cmath>

#include "core/api/random.hpp"
#include "models/network/claimed_mask.hpp"
#include "models/network/mask_oracle.hpp"
#include "models/network/parameters.hpp"
#include "models/network/self_check.hpp"
#include "models/network/step_oracle.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/layered_network.hpp"
#include "tests/models/network/reference_claims.hpp"

namespace assay {
namespace test_layers {

using network_test::difference;
using network_test::layered_network;
using network_test::LayeredFaults;
using network_test::made;
using network_test::reference_layered;
using network_test::small_claims;

ReferenceBatch batch_of(std::int64_t samples, std::uint64_t seed = 7) {
  std::vector<double> pixels(
      static_cast<std::size_t>(samples * network_test::layered_input.elements()));
  Values(Values::Kind::mantissa, seed, "images", DataType::fp32, 0).fill(0, pixels);
  ReferenceBatch batch{{pixels.begin(), pixels.end()}, {}};
  for (std::int64_t i = 0; i < samples; ++i)
    batch.labels.push_back((3 * i + 1) % network_test::layered_classes);
  return batch;
}

TrainerSettings settings_of(const std::string& backend, Precision precision) {
  TrainerSettings of = network_test::small_settings(backend);
  of.network = layered_network();
  of.precision = precision;
  of.seed = 3;
  of.executor.threads = 1;
  return of;
}

/// The definition itself: each gradient is a difference of losses.
TEST(Layers, GradientsOfTheDefinitionAreDifferences) {
  const ReferenceBatch batch = batch_of(3);
  ReferenceParameters parameters;
  const ReferenceMoment moment{5, 1};
  const ReferencePass pass(reference_layered(), {.seed = 3}, 0.1, batch, parameters, moment);
  for (auto& [name, parameter] : parameters)
    for (std::size_t i = 0; i < parameter.values.size(); i += 1 + parameter.values.size() / 3) {
      constexpr double step = 1e-6;
      const double was = parameter.values[i];
      const auto loss_at = [&](double value) {
        parameter.values[i] = value;
        return ReferencePass(reference_layered(), {.seed = 3}, 0.1, batch, parameters, moment).loss;
      };
      const double slope = (loss_at(was + step) - loss_at(was - step)) / (2 * step);
      parameter.values[i] = was;
      EXPECT_NEAR(pass.gradients.at(name)[i], slope, 1e-8 + 1e-5 * std::abs(slope)) << name << i;
    }
}

/// The gradients of one pass, by parameter, beside those of the definition.
void expect_gradients(const TrainerSettings& of, double most) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(of, *alone);
  const ReferenceBatch batch = batch_of(of.batch);
  trainer->load(std::span(batch.images), batch.labels);
  trainer->make_gradients();
  ReferenceParameters parameters;
  const ReferencePass pass(reference_layered(), {.seed = 3}, 0, batch, parameters);
  const Graph& graph = trainer->graph();
  EXPECT_NEAR(trainer->loss(), pass.loss, most * pass.loss);
  const std::vector<double> all = read_values(trainer->executor(), graph.gradients);
  EXPECT_EQ(graph.parameters.size(), pass.gradients.size());
  for (const Parameter& each : graph.parameters) {
    const std::vector<double> gradient(all.begin() + each.offset,
                                       all.begin() + each.offset + each.elements());
    EXPECT_LT(difference(gradient, pass.gradients.at(each.name)), most)
        << each.name << " by " << of.executor.backends.front();
  }
}

TEST(Layers, BackendsComputeTheDefinition) {
  expect_gradients(settings_of("reference", Precision::fp64), 1e-12);
  for (const char* backend : {"reference", "native", "onednn"})
    if (network_test::plugins().status(backend).available)
      expect_gradients(settings_of(backend, Precision::fp32), 1e-4);
}

/// Each operation of a step beside its oracle, and the step beside its claims.
TEST(Layers, CheckedStepsPass) {
  for (const char* backend : {"reference", "native", "onednn"}) {
    if (!network_test::plugins().status(backend).available) continue;
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
      TrainerSettings of = settings_of(backend, precision);
      of.accumulate = 2;
      of.lag = 1;
      const auto alone = make_serial_communicator();
      const auto trainer = made(of, *alone);
      const ReferenceBatch batch = batch_of(of.batch);
      trainer->load(std::span(batch.images), batch.labels);
      Settings claims = small_claims({{"accumulate", "2"}, {"lag", "1"}, {"batch", "4"}});
      for (const char* none : {"warmup", "epochs"}) claims[none] = "0";
      claims["schedule"] = "constant";
      claims["loss_scale"] = "none";
      StepOracle oracle(StepClaims(claims), trainer->executor(), *alone);
      oracle.expect_rate(0.01);
      for (std::uint64_t step = 0; step < 3; ++step) {
        StepCheck check;
        check.verification.passed = true;
        check.seed = step;
        for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i) check.nodes.insert(i);
        {
          const ObservedStep observed(&oracle, *trainer, step);
          trainer->step(0.01, &check);
        }
        oracle.end(*trainer, check.verification);
        EXPECT_TRUE(check.verification.passed)
            << backend << " " << name(precision) << ": " << check.verification.reason;
      }
    }
  }
}

/// The reason why --self-check refuses the training of a network; "" if it does not.
std::string why_wrong(const Network& network, Precision precision, const Settings& claims) {
  std::string reason;
  (void)network_test::plugins();
  testing_fakes::on_threads(std::stoi(claims.at("ranks")), [&](Communicator& ranks) {
    TrainerSettings of = network_test::claimed_settings(
        claims, precision == Precision::fp64 ? "reference" : "native", precision);
    of.network = network;
    const auto trainer = made(of, ranks);
    Verification found;
    found.passed = true;
    self_check(*trainer, ReferenceClaims(claims).rate, reference_layered(), claims,
               network_test::plugins(), ranks, nullptr, found);
    if (ranks.rank() == 0) reason = found.reason;
  });
  return reason;
}

TEST(Layers, TrainingsAreThoseOfTheDefinition) {
  for (const Precision precision :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    for (const Settings& others :
         {Settings{}, Settings{{"accumulate", "3"}, {"lag", "1"}},
          Settings{{"ranks", "2"}, {"accumulate", "2"}, {"optimizer", "adam"}}})
      EXPECT_EQ(why_wrong(layered_network(), precision, small_claims(others)), "")
          << name(precision);
}

TEST(Layers, FaultyNetworksAreFound) {
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    for (const auto& [what, network] :
         {std::pair{"reversed", layered_network(0.25, {.reversed_concat = true})},
          std::pair{"dilation", layered_network(0.25, {.dilation = 1})},
          std::pair{"row", layered_network(0.25, {.last_row_of_deconv = false})},
          std::pair{"probability", layered_network(0.5)},
          std::pair{"no dropout", layered_network(0)}})
      EXPECT_TRUE(why_wrong(network, precision, small_claims()).starts_with("--self-check: after"))
          << what << " in " << name(precision);
}

/// The weights after 4 steps; after `changed` of them another trainer takes the state over.
std::vector<double> learnt(int changed, std::int64_t lag) {
  TrainerSettings of = settings_of("native", Precision::fp32);
  of.accumulate = 2;
  of.lag = lag;
  const auto alone = make_serial_communicator();
  const ReferenceBatch batch = batch_of(of.batch);
  const auto fresh = [&] {
    auto trainer = made(of, *alone);
    trainer->load(std::span(batch.images), batch.labels);
    return trainer;
  };
  auto trainer = fresh();
  for (int step = 0; step < 4; ++step) {
    if (step == changed) {
      Trainer::State state;
      trainer->save(state);
      trainer = fresh();
      trainer->swap_state(state);
    }
    trainer->step(0.05);
  }
  return read_values(trainer->executor(), trainer->graph().weights);
}

TEST(Layers, ATrainingThatGoesOnHasTheMasksOfOneThatWasNotInterrupted) {
  for (const std::int64_t lag : {0, 1}) {
    const std::vector<double> whole = learnt(-1, lag);
    for (const int changed : {1, 2, 3}) EXPECT_EQ(learnt(changed, lag), whole) << changed << lag;
  }
}

TEST(Layers, InferenceHasNoDropout) {
  const Graph graph = make_inference_graph(layered_network(), 2, Precision::fp32);
  for (const GraphNode& node : graph.nodes) EXPECT_NE(node.problem->kind(), "dropout");
}

TEST(Layers, KeysOfMasksAreThoseThatAreClaimed) {
  for (const char* layer : {"drop", "drop2"})
    for (const std::uint64_t seed : {1u, 3u})
      for (const int rank : {0, 1, 4096})
        EXPECT_EQ(mask_key(layer, {seed, rank}), ClaimedMask(layer, seed, rank).key());
}

/// The fault in the masks of a step before which the training has made `steps` others, if its
/// counter says that it has made none.
std::string fault_of_masks(std::int64_t steps, Communicator& trained, Communicator& judged) {
  const auto trainer = made(settings_of("native", Precision::fp32), trained);
  const ReferenceBatch batch = batch_of(trainer->settings().batch);
  trainer->load(std::span(batch.images), batch.labels);
  MaskOracle oracle(trainer->executor());
  oracle.begin();
  for (std::size_t i = 0; i < trainer->graph().nodes.size(); ++i) {
    if (trainer->graph().nodes[i].phase == Phase::update) continue;
    oracle.before(i);
    trainer->executor().run_node(i);
    oracle.after(i);
  }
  return oracle.fault(steps, 1, judged);
}

TEST(Layers, RepeatedMasksAreFound) {
  const auto alone = make_serial_communicator();
  EXPECT_EQ(fault_of_masks(0, *alone, *alone), "");
  EXPECT_EQ(fault_of_masks(1, *alone, *alone),
            "drop forward has the mask of pass 0 of the training in its pass 1");
  (void)network_test::plugins();
  testing_fakes::on_threads(2, [](Communicator& ranks) {
    EXPECT_EQ(fault_of_masks(0, ranks, ranks), "");
    const auto own = make_serial_communicator();
    EXPECT_EQ(fault_of_masks(0, *own, ranks),
              "two layers, or ranks, have the same masks of dropout");
  });
}

}  // namespace test_layers
}  // namespace assay
