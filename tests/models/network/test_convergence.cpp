// Training to an accuracy.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "core/base/error.hpp"
#include "models/network/convergence.hpp"
#include "models/network/parameters.hpp"
#include "tests/core/result_fixture.hpp"
#include "trainers.hpp"

namespace assay {
namespace {

using network_test::made;
using network_test::plugins;

struct Session {
  std::unique_ptr<Communicator> ranks = serial_communicator();
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<Batches> training, validation;
  ConvergenceSettings settings;

  explicit Session(std::uint64_t seed, std::int64_t width = 8, std::int64_t images = 320,
                   Precision precision = Precision::fp32, const char* scale = "none",
                   std::int64_t accumulate = 1, bool emulated = false, std::int64_t lag = 0) {
    TrainerSettings of = network_test::small_settings("native");
    of.shape.width = width;
    of.batch = 32;
    of.accumulate = accumulate;
    of.lag = lag;
    of.precision = precision;
    of.loss_scale = parse_loss_scale("--loss-scale", scale);
    of.executor.threads = 1;
    of.executor.wide_products = emulated;
    of.seed = seed;
    trainer = made(of, *ranks);
    auto found = Evaluator::make(*trainer, plugins(), *ranks);
    evaluator = std::move(std::get<std::unique_ptr<Evaluator>>(found));
    const auto learnable = std::make_shared<const LearnableImages>(LearnableSettings{10, 32, seed});
    training = learnable_batches(learnable, images, {32, 0, 1, true, seed});
    validation = learnable_batches(learnable, 300, {32, 0, 1, false, seed});
    settings.epochs = 2;
    settings.rate = 0.1;
    settings.decay.kind = Decay::Kind::cosine;
  }
  Convergence train() {
    return assay::train(*trainer, *evaluator, *training, *validation, *ranks, settings);
  }
  std::vector<double> weights() {
    return read_values(trainer->executor(), trainer->graph().weights);
  }
};

/// 97 % in three epochs of 2000 images, as PyTorch's network reaches with these data
/// (docs/training.md).
TEST(Convergence, ASmallNetworkLearnsItsClasses) {
  Session run(1, 16, 2000);
  run.settings.epochs = 3;
  run.settings.target = 0.97;
  const Convergence made = run.train();
  ASSERT_FALSE(made.epochs.empty());
  EXPECT_TRUE(made.reached) << made.epochs.back().evaluation->accuracy;
  EXPECT_EQ(made.epochs.back().evaluation->images, 300);
  EXPECT_TRUE(made.found.passed) << made.found.reason;
  EXPECT_GT(made.found.checked, 1000);
  EXPECT_LT(made.epochs.back().training_loss, made.epochs.front().training_loss);
}

/// At a fifth of the rate: at 0.1 it tells 31 % after three epochs.
TEST(Convergence, ASmallNetworkLearnsItsClassesWithALag) {
  Session run(1, 16, 2000, Precision::fp32, "none", 1, false, 1);
  run.settings.rate = 0.02;
  run.settings.epochs = 3;
  run.settings.target = 0.97;
  const Convergence made = run.train();
  ASSERT_FALSE(made.epochs.empty());
  EXPECT_TRUE(made.reached) << made.epochs.back().evaluation->accuracy;
  EXPECT_TRUE(made.found.passed) << made.found.reason;
  EXPECT_GT(made.found.checked, 1000);
}

TEST(Convergence, ASmallNetworkLearnsItsClassesEmulated) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    Session run(1, 8, 640, precision, precision == Precision::fp16 ? "dynamic" : "none", 1, true);
    run.settings.target = 0.5;
    const Convergence made = run.train();
    ASSERT_FALSE(made.epochs.empty());
    EXPECT_TRUE(made.reached) << name(precision) << ": " << made.epochs.back().evaluation->accuracy;
    EXPECT_TRUE(made.found.passed) << name(precision) << ": " << made.found.reason;
  }
}

/// Five seeds in each precision, the narrow ones as the processor has them and emulated; fp16 with
/// a dynamic loss scale. The band of losses is what these seeds gave, and as much again.
TEST(ConvergenceFull, EveryPrecisionLearnsItsClasses) {
  for (const auto& [precision, emulated] :
       {std::pair{Precision::fp32, false}, std::pair{Precision::bf16, false},
        std::pair{Precision::fp16, false}, std::pair{Precision::bf16, true},
        std::pair{Precision::fp16, true}})
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Session run(seed, 16, 2000, precision, precision == Precision::fp16 ? "dynamic" : "none", 1,
                  emulated);
      run.settings.epochs = 6;
      run.settings.target = 0.97;
      const Convergence made = run.train();
      ASSERT_FALSE(made.epochs.empty());
      const EpochResult& last = made.epochs.back();
      EXPECT_TRUE(made.reached) << name(precision) << " " << seed << ": "
                                << last.evaluation->accuracy;
      EXPECT_TRUE(made.found.passed) << made.found.reason;
      EXPECT_LT(last.evaluation->loss, 0.15) << name(precision) << " " << seed;
      std::cerr << (emulated ? "emulated " : "") << name(precision) << " seed " << seed << ": "
                << last.epoch << " epochs, accuracy " << last.evaluation->accuracy << ", loss "
                << last.evaluation->loss << '\n';
    }
}

TEST(Convergence, ValidatesEverySoManyEpochsAndAtTheEnd) {
  Session run(1);
  run.settings.epochs = 5;
  run.settings.validate_every = 2;
  run.settings.target = 1.1;
  const Convergence made = run.train();
  ASSERT_EQ(made.epochs.size(), 5U);
  double before = 0;
  for (const EpochResult& epoch : made.epochs) {
    EXPECT_EQ(epoch.evaluation.has_value(), epoch.epoch % 2 == 0 || epoch.epoch == 5);
    EXPECT_GE(epoch.started_unix_s, before);
    EXPECT_GT(epoch.trained_unix_s, epoch.started_unix_s);
    EXPECT_EQ(epoch.ended_unix_s > epoch.trained_unix_s, epoch.evaluation.has_value());
    before = epoch.ended_unix_s;
  }
  EXPECT_GT(made.found.checked, 1000);
}

TEST(Convergence, WithoutUpdatesNothingIsLearnt) {
  Session run(1);
  run.settings.rate = 1e-30;
  const Convergence made = run.train();
  EXPECT_FALSE(made.reached);
  EXPECT_LT(made.epochs.back().evaluation->accuracy, 0.3);
}

TEST(Convergence, DivergenceIsNoResult) {
  Session run(1);
  run.settings.rate = 1e30;
  EXPECT_THROW(run.train(), CaseError);
}

std::string diverged(Session& run) {
  try {
    run.train();
  } catch (const Diverged& why) {
    return why.what();
  }
  return "went on";
}

/// However many steps of the epoch are left, the scale is not to blame where it is 1.
TEST(Convergence, ADivergedTrainingIsToldFromAScaleThatIsTooLarge) {
  for (const char* scale : {"none", "fixed:1", "dynamic:1"}) {
    Session run(1, 8, 150 * 32, Precision::fp32, scale);
    run.settings.rate = 1e30;
    const std::string said = diverged(run);
    EXPECT_SAYS(said, "training diverged: gradients are not finite in step ");
    EXPECT_SAYS(said, "of epoch 1. Use a smaller learning rate, or a longer warm-up.");
    EXPECT_LT(run.trainer->loss_scale().steps(), 100);
  }
}

/// A fixed scale that all steps overflow at would go on to the last epoch, and learn nothing.
TEST(Convergence, AScaleThatSkipsForeverEnds) {
  Session run(1, 8, 320, Precision::fp16, "fixed:16777216");
  run.settings.epochs = 20;
  run.settings.validate_every = 20;
  const std::string said = diverged(run);
  EXPECT_SAYS(said, "100 steps in a row were skipped, up to step 10 of epoch 10");
  EXPECT_SAYS(said, "at the loss scale 16777216");
  EXPECT_EQ(run.trainer->loss_scale().steps(), 100);
}

TEST(Convergence, ARestartEqualsTheUninterruptedRun) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_restart_" + std::to_string(getpid()));
  Session whole(3), first(3), second(3), other(4, 16);
  whole.settings.epochs = 2;
  whole.train();
  // One epoch of two, as if it had been stopped then: the schedule is that of two.
  first.settings.epochs = 2;
  first.settings.target = 0;  // ends after the first epoch
  first.settings.checkpoint = file;
  EXPECT_EQ(first.train().epochs.size(), 1U);
  EXPECT_NE(first.weights(), whole.weights());
  second.settings = whole.settings;
  second.settings.checkpoint = file;
  second.settings.restart = true;
  const Convergence made = second.train();
  EXPECT_EQ(made.epochs.size(), 1U);
  EXPECT_EQ(made.epochs.front().epoch, 2);
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_EQ(second.trainer->running_statistics(), whole.trainer->running_statistics());
  EXPECT_GT(made.checkpoint_bytes, 1000);
  // Another network.
  other.settings.checkpoint = file;
  other.settings.restart = true;
  EXPECT_THROW(other.train(), InputError);
  std::filesystem::remove(file);
}

/// Of ten batches of an epoch nine are used, in three steps; the next epoch begins with its own.
TEST(Convergence, AccumulatesBatches) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_accumulate_" + std::to_string(getpid()));
  const auto session = [](std::int64_t accumulate) {
    return Session(3, 8, 320, Precision::fp32, "none", accumulate);
  };
  Session whole = session(3), first = session(3), second = session(3), other = session(1),
          much = session(11);
  whole.settings.epochs = 2;
  const Convergence made = whole.train();
  EXPECT_TRUE(made.found.passed) << made.found.reason;
  EXPECT_EQ(made.steps, 6);
  EXPECT_LT(made.epochs[1].training_loss, made.epochs[0].training_loss);
  first.settings.epochs = 2;
  first.settings.target = 0;
  first.settings.checkpoint = file;
  EXPECT_EQ(first.train().epochs.size(), 1U);
  second.settings = whole.settings;
  second.settings.checkpoint = file;
  second.settings.restart = true;
  second.train();
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_EQ(second.trainer->running_statistics(), whole.trainer->running_statistics());
  other.settings = second.settings;
  EXPECT_THROW(other.train(), InputError);
  EXPECT_THROW(much.train(), InputError) << "more batches than an epoch has";
  std::filesystem::remove(file);
}

/// The gradients of the last step wait in the checkpoint, with the loss scale that they were made
/// with: after ten steps nine updates have doubled it for the third time.
TEST(Convergence, ARestartLearnsGradientsThatWaited) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_lag_" + std::to_string(getpid()));
  const auto session = [](std::int64_t lag) {
    return Session(3, 8, 320, Precision::fp32, "dynamic:256:3", 1, false, lag);
  };
  Session whole = session(1), first = session(1), second = session(1), without = session(0);
  const Convergence made = whole.train();
  EXPECT_TRUE(made.found.passed) << made.found.reason;
  EXPECT_EQ(whole.trainer->loss_scale().steps(), 19);  // of 20: the first has no update
  first.settings.target = 0;
  first.settings.checkpoint = file;
  EXPECT_EQ(first.train().epochs.size(), 1U);
  EXPECT_EQ(first.trainer->loss_scale().scale(), 256 * 8);
  Trainer::State state;
  first.trainer->save(state);
  EXPECT_EQ(state.waiting_scale, 256 * 4);
  second.settings = whole.settings;
  second.settings.checkpoint = file;
  second.settings.restart = true;
  without.settings = second.settings;
  EXPECT_SAYS(fixture::message_of([&] { without.train(); }), "its lag is 1, here 0");
  second.train();
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_EQ(second.trainer->running_statistics(), whole.trainer->running_statistics());
  // And the other way.
  without.settings = first.settings;
  without.train();
  EXPECT_SAYS(fixture::message_of([&] { second.train(); }), "its lag is 0, here 1");
  std::filesystem::remove(file);
}

/// The first steps overflow, and are skipped; a restart goes on with the scale that was found.
TEST(Convergence, ScalesAreFoundAndKept) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_scale_" + std::to_string(getpid()));
  Session first(3, 8, 320, Precision::fp16, "dynamic:16777216"),
      second(3, 8, 320, Precision::fp16, "dynamic:16777216");
  first.settings.epochs = 2;
  first.settings.target = 0;
  first.settings.checkpoint = file;
  const Convergence made = first.train();
  EXPECT_TRUE(made.found.passed) << made.found.reason;
  EXPECT_GT(made.found.checked, 1000);
  const std::int64_t skipped = first.trainer->loss_scale().skipped();
  EXPECT_GT(skipped, 0);
  second.settings = first.settings;
  second.settings.restart = true;
  second.train();
  EXPECT_GE(second.trainer->loss_scale().skipped(), skipped);
  EXPECT_EQ(second.trainer->loss_scale().steps(), 20);
  std::filesystem::remove(file);
}

/// A process that is asked to end in mid-epoch leaves a checkpoint, from which training continues
/// bit for bit. The other process runs this test, too, up to its end.
TEST(ConvergenceDeathTest, ATerminatedRunContinues) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto file = std::filesystem::path(ASSAY_BUILD_DIR) / "terminated.checkpoint";
  const auto stopped = [&] {
    Session run(3);
    run.settings.checkpoint = file;
    run.settings.progress = [](const std::string& text) {
      if (text.starts_with("epoch 1")) raise(SIGTERM);
      std::cerr << text << '\n';
    };
    run.train();
    _exit(0);
  };
  EXPECT_EXIT(stopped(), testing::KilledBySignal(SIGTERM),
              "stopped by SIGTERM after step 1 of epoch 2");
  Session whole(3), second(3), another(4);
  whole.train();
  second.settings.checkpoint = file;
  second.settings.restart = true;
  const Convergence made = second.train();
  ASSERT_EQ(made.epochs.size(), 1U);
  EXPECT_EQ(made.steps, 9);  // of ten of the epoch
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_EQ(second.trainer->running_statistics(), whole.trainer->running_statistics());
  another.settings = second.settings;
  EXPECT_THROW(another.train(), InputError);  // of another seed
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace assay
