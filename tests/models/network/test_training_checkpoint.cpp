// The content of a checkpoint of a training, and the training that it belongs to.

#include "models/network/learnable_images.hpp"
#include "models/network/training_checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>

#include "core/base/error.hpp"
#include "forwarding_batches.hpp"
#include "session.hpp"
#include "tests/core/result_fixture.hpp"
#include "tests/core/thread_communicator.hpp"

namespace assay {
namespace test_training_checkpoint {

using network_test::Session;

TEST(TrainingCheckpoint, ARestartEqualsTheUninterruptedRun) {
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

/// Moments are corrected by the number of updates, some of which were skipped.
TEST(TrainingCheckpoint, ARestartHasMomentsAndTheNumberOfTheirUpdates) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_moments_" + std::to_string(getpid()));
  for (const UpdateRule rule : {UpdateRule::adam, UpdateRule::lamb, UpdateRule::rmsprop}) {
    const auto session = [&] {
      return Session(3, 8, 320, Precision::fp16, "dynamic:16777216", 1, false, 0, 32, false, rule);
    };
    Session whole = session(), first = session(), second = session();
    for (Session* const each : {&whole, &first, &second}) each->settings.rate = 0.002;
    whole.train();
    first.settings.target = 0;
    first.settings.checkpoint = file;
    first.train();
    EXPECT_GT(first.trainer->loss_scale().skipped(), 0);
    second.settings = whole.settings;
    second.settings.checkpoint = file;
    second.settings.restart = true;
    second.train();
    EXPECT_EQ(second.weights(), whole.weights()) << name(rule);
    const ValueIndex moments = whole.trainer->graph().second;
    EXPECT_EQ(read_values(second.trainer->executor(), moments),
              read_values(whole.trainer->executor(), moments))
        << name(rule);
    std::filesystem::remove(file);
  }
}

/// The message when `run` continues from `file`.
std::string refusal(Session run, const std::filesystem::path& file, bool restart = true) {
  run.settings.checkpoint = file;
  run.settings.restart = restart;
  return fixture::message_of([&] { run.train(); });
}

/// The checkpoint is of a training that would make other steps.
TEST(TrainingCheckpoint, ACheckpointOfAnotherTrainingIsRefused) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_other_" + std::to_string(getpid()));
  Session first(3, 8, 64);
  first.settings.target = 0;
  first.settings.checkpoint = file;
  first.train();
  const auto changed = [](const auto& change) {
    Session run(3, 8, 64);
    change(run.settings);
    return run;
  };
  EXPECT_SAYS(refusal(Session(3, 8, 64, Precision::fp32, "none", 1, false, 0, 16), file),
              "its batch is 32, here 16. Continue with the same.");
  EXPECT_SAYS(refusal(Session(3, 8, 96), file), "its data is learnable:c10s32seed3n64, here ");
  EXPECT_SAYS(refusal(changed([](auto& of) { of.rate = 0.2; }), file), "its rate is 0.1, here 0.2");
  EXPECT_SAYS(refusal(changed([](auto& of) { of.epochs = 3; }), file), "its epochs is 2, here 3");
  EXPECT_SAYS(refusal(changed([](auto& of) { of.decay.kind = Decay::Kind::constant; }), file),
              "its schedule is cosine, here constant");
  EXPECT_SAYS(refusal(changed([](auto& of) { of.warmup_epochs = 1; }), file), "its warmup is 0");
  EXPECT_SAYS(refusal(changed([](auto& of) {
                        of.same_settings = {{"augment", "none"}};
                      }),
                      file),
              "its settings are ");
  // A training that begins does not lose it either.
  EXPECT_SAYS(refusal(changed([](auto& of) { of.rate = 0.2; }), file, false),
              "it is there already and would be overwritten");
  EXPECT_EQ(refusal(changed([](auto& of) { of.target = 0; }), file, false), "accepted");
  EXPECT_EQ(refusal(changed([](auto&) {}), file), "accepted");
  std::filesystem::remove(file);
}

TEST(TrainingCheckpoint, OfMoreEpochsTellsHowManyItHas) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_epochs_" + std::to_string(getpid()));
  Session first(3, 8, 64);
  first.settings.decay.kind = Decay::Kind::constant;
  first.settings.target = 2;  // never reached
  first.settings.checkpoint = file;
  first.train();
  Session fewer(3, 8, 64);
  fewer.settings = first.settings;
  fewer.settings.epochs = 1;
  EXPECT_SAYS(refusal(std::move(fewer), file),
              "it was made after epoch 2, beyond --epochs 1. Give more.");
  std::filesystem::remove(file);
}

TEST(TrainingCheckpoint, AFileThatIsNoCheckpointIsNotOverwritten) {
  const fixture::Folder folder;
  const auto file = folder.put("result.json", "{\"rows\": [1, 2, 3, 4]}");
  const std::string said = refusal(Session(3, 8, 32), file, false);
  EXPECT_SAYS(said, "is not a checkpoint of this training");
  EXPECT_SAYS(said, "Name another file, or continue with --restart yes");
  EXPECT_EQ(std::filesystem::file_size(file), 22U);
  EXPECT_SAYS(refusal(Session(3, 8, 32), file / "x", false), "cannot be written");
}

/// A file that was written without velocities or fingerprints, or whose numbers are not those of
/// the device.
TEST(TrainingCheckpoint, AStateThatIsNotTheDevicesIsTold) {
  const fixture::Folder folder;
  Session run(3, 8, 64);
  run.settings.checkpoint = folder.path() / "kept";
  run.settings.target = 0;
  EXPECT_EQ(run.train().verification.reason, "");
  const TrainingCheckpoint kept(*run.trainer, *run.training, *run.ranks, run.settings);
  const std::string architecture = "resnet d18w8s32c10 fp32 sgd";
  const auto rewrite = [&](bool without_velocities, bool without_fingerprints) {
    const Checkpoint from(run.settings.checkpoint, architecture);
    nlohmann::json state = from.state();
    if (without_fingerprints) state.erase("fingerprints");
    std::vector<std::byte> velocities(from.bytes("value 0").size());
    std::vector<CheckpointBlob> blobs;
    for (const char* name : {"value 0", "value 1", "running statistics"})
      blobs.push_back({name, from.bytes(name)});
    if (without_velocities) blobs.front().bytes = velocities;
    write_checkpoint(run.settings.checkpoint, architecture, state, blobs);
  };
  rewrite(true, false);
  kept.read();
  EXPECT_SAYS(kept.fault(), "the velocity are ");
  rewrite(false, true);  // a file that cannot be judged is not believed
  kept.read();
  EXPECT_SAYS(kept.fault(), "by the fingerprints in");
  kept.write({1, 0, 0, 1, 0, {}});
  EXPECT_EQ(kept.fault(), "");
  kept.read();
  EXPECT_EQ(kept.fault(), "");
}

/// Each rank continues with the bad samples that it knows, and all from the same file.
TEST(TrainingCheckpoint, IsOfAllRanks) {
  const fixture::Folder folder;
  network_test::plugins();
  testing_fakes::on_threads(2, [&](Communicator& ranks) {
    const bool first = ranks.rank() == 0;
    const auto trainer = network_test::made(network_test::small_settings("native"), ranks);
    const auto learnable = std::make_shared<const LearnableImages>(LearnableSettings{10, 32, 1});
    const auto training = make_learnable_batches(learnable, 40, {4, ranks.rank(), 2, true, 1});
    ConvergenceSettings settings;
    settings.epochs = 9;
    settings.checkpoint = folder.path() / "kept";
    settings.restart = true;
    const TrainingCheckpoint kept(*trainer, *training, ranks, settings);
    const std::vector<std::int64_t> bad = {first ? 3 : 5, 7};
    kept.write({2, 1, first ? 1.0 : 2.0, 12.5, 1, bad, 0.25});
    const TrainingProgress found = kept.read();
    EXPECT_EQ(found.epoch, 2);
    EXPECT_EQ(found.step, 1);
    EXPECT_EQ(found.losses, 1.5);
    EXPECT_EQ(found.seconds, 12.5);
    EXPECT_EQ(found.untimed, 1);
    EXPECT_EQ(found.bad_samples, bad);
    EXPECT_EQ(found.score, 0.25);
    if (!first) settings.checkpoint = folder.path() / "another";
    EXPECT_SAYS(fixture::message_of([&] { kept.read(); }), "rank 1 on threads0: ");
    if (!first) std::filesystem::copy_file(folder.path() / "kept", folder.path() / "another");
    ranks.barrier();
    settings.checkpoint = folder.path() / "kept";
    kept.write({3, 0, 0, 15, 0, {}});
    EXPECT_FALSE(kept.read().score);
    if (!first) settings.checkpoint = folder.path() / "another";
    EXPECT_SAYS(fixture::message_of([&] { kept.expect_usable(); }),
                "rank 1 reads another checkpoint than rank 0");
  });
}

/// Nine of ten batches of an epoch are used, in three steps; the next epoch begins with its own.
TEST(TrainingCheckpoint, AccumulatesBatches) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_accumulate_" + std::to_string(getpid()));
  const auto session = [](std::int64_t accumulate) {
    return Session(3, 8, 320, Precision::fp32, "none", accumulate);
  };
  Session whole = session(3), first = session(3), second = session(3), other = session(1),
          much = session(11);
  whole.settings.epochs = 2;
  const Convergence made = whole.train();
  EXPECT_TRUE(made.verification.passed) << made.verification.reason;
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
TEST(TrainingCheckpoint, ARestartLearnsGradientsThatWaited) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_lag_" + std::to_string(getpid()));
  const auto session = [](std::int64_t lag) {
    return Session(3, 8, 320, Precision::fp32, "dynamic:256:3", 1, false, lag);
  };
  Session whole = session(1), first = session(1), second = session(1), without = session(0);
  const Convergence made = whole.train();
  EXPECT_TRUE(made.verification.passed) << made.verification.reason;
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
  std::filesystem::remove(file);
  without.settings = first.settings;
  without.train();
  EXPECT_SAYS(fixture::message_of([&] { second.train(); }), "its lag is 0, here 1");
  std::filesystem::remove(file);
}

/// The first steps overflow, and are skipped; a restart goes on with the scale that was found.
TEST(TrainingCheckpoint, ScalesAreFoundAndKept) {
  const auto file =
      std::filesystem::temp_directory_path() / ("assay_scale_" + std::to_string(getpid()));
  Session first(3, 8, 320, Precision::fp16, "dynamic:16777216"),
      second(3, 8, 320, Precision::fp16, "dynamic:16777216");
  first.settings.epochs = 2;
  first.settings.target = 0;
  first.settings.checkpoint = file;
  const Convergence made = first.train();
  EXPECT_TRUE(made.verification.passed) << made.verification.reason;
  EXPECT_GT(made.verification.checked, 1000);
  const std::int64_t skipped = first.trainer->loss_scale().skipped();
  EXPECT_GT(skipped, 0);
  second.settings = first.settings;
  second.settings.restart = true;
  const Convergence nothing = second.train();  // the target was reached
  EXPECT_TRUE(nothing.reached);
  EXPECT_EQ(nothing.epochs.back().epoch, 1);
  EXPECT_EQ(nothing.epochs.back().evaluation->score, made.epochs.back().evaluation->score);
  EXPECT_EQ(second.trainer->loss_scale().steps(), 10);
  second.settings.target = 2;
  second.train();
  EXPECT_GE(second.trainer->loss_scale().skipped(), skipped);
  EXPECT_EQ(second.trainer->loss_scale().steps(), 20);
  std::filesystem::remove(file);
}

/// Asks the process to end while a batch is made.
class Terminating final : public network_test::ForwardingBatches {
 public:
  Terminating(std::unique_ptr<Batches> under, int at)
      : ForwardingBatches(std::move(under)), left_(at) {}
  const Batch& next() override {
    if (--left_ == 0) raise(SIGTERM);
    return ForwardingBatches::next();
  }

 private:
  int left_;
};

/// A process that is asked to end in mid-epoch leaves a checkpoint, from which training continues
/// bit for bit. The other process runs this test, too, up to its end.
TEST(TrainingCheckpointDeathTest, ATerminatedRunContinues) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto file = std::filesystem::path(ASSAY_BUILD_DIR) / "terminated.checkpoint";
  std::filesystem::remove(file);  // of a test that was killed
  const auto stopped = [&] {
    Session run(3);
    run.training = std::make_unique<Terminating>(std::move(run.training), 11);
    run.settings.checkpoint = file;
    run.settings.progress = [](const std::string& text) { std::cerr << text << '\n'; };
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

/// An epoch may have one step, and nothing but the row is left to be made after the last one.
TEST(TrainingCheckpointDeathTest, ARequestOfTheLastStepIsObeyed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto file = std::filesystem::path(ASSAY_BUILD_DIR) / "terminated_late.checkpoint";
  std::filesystem::remove(file);  // of a test that was killed
  const auto stopped = [&](int after) {
    Session run(3, 8, 32);
    run.settings.target = 1.1;
    run.settings.checkpoint = file;
    run.settings.progress = [after](const std::string& text) {
      if (text.starts_with("epoch " + std::to_string(after))) raise(SIGTERM);
      std::cerr << text << '\n';
    };
    run.train();
    _exit(0);
  };
  EXPECT_EXIT(stopped(1), testing::KilledBySignal(SIGTERM), "stopped by SIGTERM after epoch 1,");
  EXPECT_EXIT(stopped(2), testing::KilledBySignal(SIGTERM), "stopped by SIGTERM after epoch 2,");
  Session rest(3, 8, 32);
  rest.settings.checkpoint = file;
  rest.settings.restart = true;
  const Convergence made = rest.train();
  ASSERT_EQ(made.epochs.size(), 1U);
  EXPECT_EQ(made.steps, 0);
  EXPECT_FALSE(made.epochs.front().has_steps());
  EXPECT_TRUE(made.epochs.front().evaluation);
  EXPECT_GT(made.epochs.front().seconds, 0);
  std::filesystem::remove(file);
}

}  // namespace test_training_checkpoint
}  // namespace assay
