// A whole step is judged by the parameters of the case: each test has a trainer that does something
// else than they say.

#include "models/network/step_oracle.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/network/parity.hpp"
#include "tests/core/thread_communicator.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_step_oracle {

using network_test::made;

Settings settings_of(const std::map<std::string, std::string>& others = {}) {
  Settings all = {{"optimizer", "sgd"},  {"accumulate", "1"},      {"ranks", "1"},
                  {"lag", "0"},          {"wire", "none"},         {"rate", "12.8"},
                  {"scaling", "linear"}, {"batch", "4"},           {"warmup", "0"},
                  {"epochs", "0"},       {"schedule", "constant"}, {"smoothing", "0"},
                  {"loss_scale", "none"}};
  for (const auto& [name, value] : others) all[name] = value;
  return all;
}

constexpr double rate = 0.2;  // 12.8 for 256 images, and a step has 4

TrainerSettings small(const std::string& backend = "native") {
  TrainerSettings of = network_test::small_settings(backend);
  of.executor.threads = 1;
  return of;
}

/// The judgement of the second of two steps, whose velocities are not 0 before.
Verification judged(Trainer& trainer, const Settings& claims, Communicator& ranks,
                    double step_rate = rate, const std::function<void()>& spoil = {}) {
  StepOracle oracle(StepClaims(claims), trainer.executor(), ranks);
  Verification found;
  for (std::uint64_t step = 0; step < 2; ++step) {
    found = {};
    found.passed = true;
    {
      const ObservedStep observed(&oracle, trainer, 7 + step);
      trainer.step(step_rate);
    }
    if (spoil && step == 1) spoil();
    oracle.end(trainer, found);
  }
  return found;
}

Verification judged(const TrainerSettings& of, const Settings& claims) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(of, *alone);
  load_random(*trainer, 5);
  return judged(*trainer, claims, *alone);
}

void expect_fault(const Verification& found, const std::string& part) {
  EXPECT_FALSE(found.passed);
  EXPECT_NE(found.reason.find(part), std::string::npos) << found.reason;
}

TEST(StepOracle, RightStepsPass) {
  for (const std::string& optimizer : list_names<UpdateRule>())
    for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp64})
      for (const std::int64_t passes : {1, 3})
        for (const std::int64_t lag : {0, 1}) {
          TrainerSettings of = small(precision == Precision::fp32 ? "native" : "reference");
          of.precision = precision;
          of.learning.rule = parse_name<UpdateRule>(optimizer);
          if (optimizer.ends_with("rmsprop")) of.learning.momentum = 0;
          of.accumulate = passes;
          of.lag = lag;
          Settings claims = settings_of({{"optimizer", optimizer},
                                         {"accumulate", std::to_string(passes)},
                                         {"lag", std::to_string(lag)}});
          claims["rate"] = fmt::format("{}", 12.8 / static_cast<double>(passes));
          const Verification found = judged(of, claims);
          EXPECT_TRUE(found.passed) << optimizer << " " << passes << " " << lag << found.reason;
          EXPECT_GT(found.checked, 1000);
        }
}

TEST(StepOracle, FindsPassesThatAreLeftOut) {
  expect_fault(judged(small(), settings_of({{"accumulate", "4"}, {"rate", "3.2"}})),
               "computed in 1 passes of a step, not in 4");
}

TEST(StepOracle, FindsAnotherOptimizer) {
  for (const char* claimed : {"lars", "larc"})
    expect_fault(judged(small(), settings_of({{"optimizer", claimed}})), "after a step, element");
  TrainerSettings lars = small();
  lars.learning.rule = UpdateRule::lars;
  expect_fault(judged(lars, settings_of()), "after a step, element");
}

TEST(StepOracle, FindsOtherFactorsOfMoments) {
  const Settings adam = settings_of({{"optimizer", "adam"}});
  const auto of = [](const std::function<void(Learning&)>& change) {
    TrainerSettings settings = small();
    settings.learning.rule = UpdateRule::adam;
    change(settings.learning);
    return settings;
  };
  EXPECT_TRUE(judged(of([](Learning&) {}), adam).passed);
  expect_fault(judged(of([](Learning& l) { l.beta1 = 0.89; }), adam), "the velocity of");
  expect_fault(judged(of([](Learning& l) { l.beta2 = 0.99; }), adam), "the second moment of");
  expect_fault(judged(of([](Learning& l) { l.epsilon = 1e-5; }), adam), "the weights of");
  expect_fault(judged(of([](Learning& l) { l.rule = UpdateRule::adamw; }), adam), "of");
  expect_fault(judged(of([](Learning& l) { l.rule = UpdateRule::lamb; }),
                      settings_of({{"optimizer", "adamw"}})),
               "the weights of");
  expect_fault(judged(of([](Learning& l) { l.rule = UpdateRule::larc_adam; }), adam), "of");
}

TEST(StepOracle, FindsOtherFactorsOfTheUpdate) {
  TrainerSettings of = small();
  of.learning.momentum = 0;
  expect_fault(judged(of, settings_of()), "the velocity of");
  of = small();
  of.learning.weight_decay = 0;
  expect_fault(judged(of, settings_of()), "the velocity of");
  of = small();
  of.learning.rule = UpdateRule::lars;
  of.learning.coefficient = 2e-3;
  expect_fault(judged(of, settings_of({{"optimizer", "lars"}})), "the velocity of");
}

TEST(StepOracle, FindsOtherLosses) {
  TrainerSettings of = small();
  of.learning.smoothing = 0.1;
  EXPECT_TRUE(judged(of, settings_of({{"smoothing", "0.1"}})).passed);
  expect_fault(judged(of, settings_of()), "the loss of image 0 is");
  of = small();
  of.loss_scale = parse_loss_scale("--loss-scale", "fixed:8");
  EXPECT_TRUE(judged(of, settings_of({{"loss_scale", "fixed:8"}})).passed);
  expect_fault(judged(of, settings_of()), "the loss is scaled by 8, not by 1");
  expect_fault(judged(of, settings_of({{"loss_scale", "fixed:16"}})), "the loss is scaled by 8");
}

TEST(StepOracle, FindsALossThatIsToldWrongly) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small(), *alone), other = made(small(), *alone);
  load_random(*trainer, 5);
  StepOracle oracle(StepClaims(settings_of()), trainer->executor(), *alone);
  Verification found;
  found.passed = true;
  {
    const ObservedStep observed(&oracle, *trainer, 3);
    trainer->step(rate);
  }
  load_random(*other, 6);
  other->step(rate);
  oracle.end(*other, found);
  expect_fault(found, "the trainer reports the loss");
}

TEST(StepOracle, FindsAnotherRate) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small(), *alone);
  load_random(*trainer, 5);
  expect_fault(judged(*trainer, settings_of(), *alone, 0.99 * rate), "the weights of");
}

TEST(StepOracle, FindsStatisticsThatAreNotAveraged) {
  const auto alone = make_serial_communicator();
  const auto trainer = made(small(), *alone);
  load_random(*trainer, 5);
  const std::vector<double> initial = trainer->running_statistics();
  expect_fault(judged(*trainer, settings_of(), *alone, rate,
                      [&] { trainer->running_statistics() = initial; }),
               "the moving mean of channel 0 of bn1");
}

TEST(StepOracle, FindsASecondUpdate) {
  const auto alone = make_serial_communicator();
  TrainerSettings of = small("reference");
  of.precision = Precision::bf16;
  const auto trainer = made(of, *alone);
  load_random(*trainer, 5);
  // The node of the update runs once more: each of them is observed.
  const std::size_t update = trainer->graph().nodes.size() - 1;
  StepOracle oracle(StepClaims(settings_of()), trainer->executor(), *alone);
  Verification found;
  found.passed = true;
  {
    const ObservedStep observed(&oracle, *trainer, 3);
    trainer->step(rate);
    trainer->executor().run_node(update);
  }
  oracle.end(*trainer, found);
  expect_fault(found, "updated the weights 2 times");
}

TEST(StepOracle, JudgesRanksTogether) {
  const TrainerSettings of = small();
  (void)network_test::plugins();
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const auto trainer = made(of, ranks);
    load_random(*trainer, 5 + static_cast<std::uint64_t>(ranks.rank()));
    Settings claims = settings_of({{"ranks", "2"}, {"rate", "6.4"}});
    EXPECT_TRUE(judged(*trainer, claims, ranks).passed);
    claims["wire"] = "bf16";
    EXPECT_TRUE(judged(*trainer, claims, ranks).passed);
    // Gradients that are added, but not divided by the ranks.
    claims = settings_of({{"ranks", "1"}});
    expect_fault(judged(*trainer, claims, ranks), "2 ranks train, not 1");
  });
}

TEST(StepOracle, FindsRanksWithOtherWeights) {
  const TrainerSettings of = small();
  (void)network_test::plugins();
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const auto trainer = made(of, ranks);
    load_random(*trainer, 5);
    const Verification found =
        judged(*trainer, settings_of({{"ranks", "2"}, {"rate", "6.4"}}), ranks, rate, [&] {
          if (ranks.rank() == 0) return;
          auto* const weights =
              static_cast<float*>(trainer->executor().memory(trainer->graph().weights).get());
          const Parameter& filters = trainer->graph().parameters.front();
          for (std::int64_t i = 0; i < filters.elements(); ++i)
            weights[filters.offset + i] *= 1.01F;
        });
    expect_fault(found, "a rank has other weights than rank 0");
  });
}

}  // namespace test_step_oracle
}  // namespace assay
