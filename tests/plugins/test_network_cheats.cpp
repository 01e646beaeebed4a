// No network whose timed steps leave something out, or learn something else, gets an ok row.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>

#include "core/measure/run_case.hpp"
#include "core/program/suite.hpp"
#include "models/network/parity.hpp"
#include "models/resnet50/benchmark.hpp"
#include "models/resnet50/resnet.hpp"
#include "tests/plugins/cheats_on.hpp"

namespace assay {
namespace {

class NetworkCheats : public testing::Test {
 protected:
  NetworkCheats() { omp_set_num_threads(1); }

  using Flags = std::map<std::string, std::vector<std::string>>;

  Outcome run(const std::string& cheat, std::uint64_t seed, const std::string& direction,
              Flags flags = {}) {
    setenv("ASSAY_CHEAT", cheat.c_str(), 1);
    Plugins plugins({TEST_PLUGINS, BUILT_PLUGINS});
    CaseContext context{plugins, *ranks_, seed};
    TimingOptions timing;
    timing.max_time = 0.05;
    flags.insert({{"direction", {direction}},
                  {"problem", {"d18w4s32c5"}},
                  {"batch", {"2"}},
                  {"device", {cheats_device()}},
                  {"threads", {"1"}}});
    const std::vector<Case> cases = expand(resnet50_benchmark(), flags, plugins);
    Settings settings = cases.at(0).settings;
    settings["backend"] = "cheating";
    const Case selected = make_case(resnet50_benchmark(), settings);
    return run_case([&] { return resnet50_benchmark().prepare(selected, context); }, *ranks_,
                    timing);
  }

  void expect_found(const std::string& cheat, const std::string& direction = "training",
                    const Flags& flags = {}) {
    for (int seed = 1; seed <= cheat_trials(5); ++seed) {
      const Outcome outcome = run(cheat, static_cast<std::uint64_t>(seed), direction, flags);
      EXPECT_EQ(outcome.status, "incorrect") << cheat << " " << seed << ": " << outcome.reason;
      EXPECT_FALSE(outcome.timing) << cheat;
    }
  }

  std::unique_ptr<Communicator> ranks_ = make_serial_communicator();
};

TEST_F(NetworkCheats, HonestStepsAreOk) {
  for (const char* direction : {"training", "inference"}) {
    const Outcome outcome = run("", 1, direction);
    EXPECT_EQ(outcome.status, "ok") << direction << ": " << outcome.reason;
  }
}

TEST_F(NetworkCheats, LayersThatAreSkipped) {
  expect_found("every_second_run");
  expect_found("one_percent");
}

/// Data that do not stay in memory are other ones in each step: an audit that has new inputs must
/// not poison the outputs.
TEST_F(NetworkCheats, LayersThatAreSkippedOnDataThatChange) {
  const Flags learnable{{"data", {"learnable:n40v10"}}};
  const Outcome honest = run("", 1, "training", learnable);
  EXPECT_EQ(honest.status, "ok") << honest.reason;
  for (const char* cheat : {"gradient_only_on_poison", "every_second_run"})
    expect_found(cheat, "training", learnable);
}

TEST_F(NetworkCheats, InferenceThatSkips) {
  for (const char* cheat : {"every_second_run", "one_percent", "run_only_on_poison"})
    expect_found(cheat, "inference");
}

TEST_F(NetworkCheats, InferenceOfOtherNumbers) {
  for (const char* cheat : {"late_element", "permuted_outputs", "coarse_arithmetic"})
    expect_found(cheat, "inference");
}

TEST_F(NetworkCheats, InputsThatAreSpoilt) { expect_found("spoils_input"); }

TEST_F(NetworkCheats, GradientsThatAreScaled) { expect_found("scaled_gradient"); }

/// In a network of one channel rounding changes some gradients by a large part of their norm.
TEST_F(NetworkCheats, GradientsThatRoundingDoesNotExcuse) {
  for (const char* cheat : {"shift_times:1", "shift_times:0", "shift_times:0.25"})
    for (const std::uint64_t seed : {2, 8, 13}) {
      setenv("ASSAY_CHEAT", cheat, 1);
      Plugins plugins({TEST_PLUGINS, BUILT_PLUGINS});
      TrainerSettings settings;
      settings.network = make_resnet({18, 1, 32, 10});
      settings.precision = Precision::bf16;
      settings.seed = seed;
      settings.executor.backends = cheating_and_others();
      settings.executor.device = cheats_device();
      const Verification found = compare_with_reference(settings, plugins);
      EXPECT_FALSE(found.passed) << cheat;
      EXPECT_EQ(found.undecided, std::string(cheat) == "shift_times:1")
          << cheat << ": " << found.reason;
    }
}

/// Two equal steps may differ by roundings to 16 bits in filters whose gradients add parts in them,
/// and in nothing else. The kernels of cuDNN may.
TEST_F(NetworkCheats, DifferencesThatPartsDoNotExcuse) {
  for (const char* cheat : {"claims_parts", ""}) {
    setenv("ASSAY_CHEAT", cheat, 1);
    Plugins plugins({TEST_PLUGINS, BUILT_PLUGINS});
    TrainerSettings settings;
    settings.network = make_resnet({18, 4, 32, 5});
    settings.batch = 2;
    settings.precision = Precision::fp16;
    settings.learning.narrow_gradients = true;
    settings.executor.backends = cheating_and_others();
    settings.executor.device = cheats_device();
    auto made = Trainer::make(settings, plugins, *ranks_);
    Trainer& trainer = *std::get<std::unique_ptr<Trainer>>(made);
    load_random(trainer, 1);
    trainer.step(0.01);
    for (const Parameter& parameter : trainer.graph().parameters) {
      Trainer::State state;
      trainer.save(state);
      std::span<float> velocity(reinterpret_cast<float*>(state.values[0].data()) + parameter.offset,
                                static_cast<std::size_t>(parameter.elements()));
      for (float& value : velocity) value *= 1.002F;
      const Trainer::Difference found = trainer.difference(state);
      EXPECT_NEAR(found.relative, 0.002, 1e-4) << found.what;
      const bool is_filter = parameter.dims.size() == 4;
      const bool may_have_parts = cheats_on_gpu() || std::string(cheat) == "claims_parts";
      EXPECT_EQ(found.relative <= found.allowed, is_filter && may_have_parts) << found.what;
    }
  }
}

TEST_F(NetworkCheats, WeightsThatStay) { expect_found("stale_weight"); }
TEST_F(NetworkCheats, UpdatesThatAreLost) { expect_found("lost_update"); }

/// The cheat is in steps without checks, whose velocities are right.
TEST_F(NetworkCheats, UpdatesThatChangeNoWeights) {
  expect_found("lost_weights");
  const Flags narrow{{"precision", {"bf16"}}};
  const Outcome honest = run("", 1, "training", narrow);
  EXPECT_EQ(honest.status, "ok") << honest.reason;
  expect_found("lost_copies", "training", narrow);
}

/// The cheat is in a step without checks, which follows two before timing. Its update is skipped,
/// and later steps are right.
TEST_F(NetworkCheats, AStepThatDiverges) {
  const Outcome outcome = run("third_not_finite", 1, "training", {{"data", {"learnable:n40v10"}}});
  EXPECT_EQ(outcome.status, "incorrect");
  EXPECT_TRUE(outcome.reason.starts_with(
      "training diverged: gradients are not finite in step 1 (with warm-up)"))
      << outcome.reason;
  EXPECT_FALSE(outcome.timing);
}

TEST_F(NetworkCheats, SumsOverBatchesThatAreLost) {
  for (const char* data : {"synthetic", "learnable:n40v10"}) {
    const Flags flags{{"accumulate", {"3"}}, {"data", {data}}};
    const Outcome honest = run("", 1, "training", flags);
    EXPECT_EQ(honest.status, "ok") << data << ": " << honest.reason;
    expect_found("lost_sum", "training", flags);
    expect_found("every_second_run", "training", flags);
  }
}

/// The first validation, of eight batches, is honest.
TEST_F(NetworkCheats, ValidationsThatSkipLater) {
  const Flags flags{{"data", {"learnable:n8v16"}}, {"steps", {"1"}},  {"epochs", {"4"}},
                    {"unreached", {"kept"}},       {"target", {"1"}}, {"rate", {"0.01"}}};
  const Outcome honest = run("", 1, "training", flags);
  EXPECT_EQ(honest.status, "ok") << honest.reason;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Outcome outcome = run("late_validation", seed, "training", flags);
    EXPECT_EQ(outcome.status, "incorrect") << seed;
    EXPECT_NE(outcome.reason.find(", in the validation after epoch "), std::string::npos)
        << outcome.reason;
  }
}

/// With a lag the update of a timed step says nothing of what that step has computed.
TEST_F(NetworkCheats, StepsWhoseGradientsWait) {
  for (const char* data : {"synthetic", "learnable:n40v10"}) {
    const Flags flags{{"lag", {"1"}}, {"data", {data}}};
    const Outcome honest = run("", 1, "training", flags);
    EXPECT_EQ(honest.status, "ok") << data << ": " << honest.reason;
    for (const char* cheat : {"lost_update", "stale_weight", "scaled_gradient", "every_second_run"})
      expect_found(cheat, "training", flags);
  }
}

TEST_F(NetworkCheats, SumsOverBatchesWhoseGradientsWait) {
  const Flags flags{{"lag", {"1"}}, {"accumulate", {"2"}}, {"data", {"learnable:n40v10"}}};
  const Outcome honest = run("", 1, "training", flags);
  EXPECT_EQ(honest.status, "ok") << honest.reason;
  expect_found("lost_sum", "training", flags);
}

}  // namespace
}  // namespace assay
