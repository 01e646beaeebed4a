// The report of training about its timed steps while they are made.

#include "models/network/training_workload.hpp"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/measure/run_case.hpp"
#include "datasets/image_files/image_files.hpp"
#include "tests/models/network/trainers.hpp"

namespace assay {
namespace test_training_workload {

using network_test::plugins;

std::vector<std::string> told(double seconds) {
  const auto alone = make_serial_communicator();
  std::vector<std::string> lines;
  TrainingRun run;
  run.trainer = network_test::small_settings("native");
  run.steps = 9;
  run.data.classes = run.trainer.network.classes;
  run.data.input = run.trainer.network.input;
  run.progress_seconds = seconds;
  run.convergence.progress = [&](const std::string& line) { lines.push_back(line); };
  const Outcome outcome = run_case([&] { return make_training_workload(run, plugins(), *alone); },
                                   *alone, TimingOptions{});
  EXPECT_EQ(outcome.status, "ok") << outcome.reason;
  return lines;
}

/// The memory that has the loss is poisoned by checks among the timed steps: it is then not told.
TEST(TrainingWorkload, TellsLossAndSpeedOfTimedSteps) {
  const std::vector<std::string> lines = told(0);
  EXPECT_GE(lines.size(), 9);
  const RE2 expected("[0-9]+ steps: loss [0-9.]+, [0-9.]+ images/s .*");
  for (const std::string& line : lines) EXPECT_TRUE(RE2::FullMatch(line, expected)) << line;
}

TEST(TrainingWorkload, TellsNothingBeforeItIsTime) { EXPECT_TRUE(told(1e9).empty()); }

/// The error comes at once, not after minutes of checks and timed steps, whose row would be lost.
TEST(TrainingWorkload, ATrainingThatCannotBeIsRefusedBeforeAnythingIsTimed) {
  const auto alone = make_serial_communicator();
  std::vector<std::string> lines;
  TrainingRun good;
  good.trainer = network_test::small_settings("native");
  good.steps = 3;
  good.data.data = "learnable:n40v10";
  good.data.classes = good.trainer.network.classes;
  good.data.input = good.trainer.network.input;
  good.progress_seconds = 0;
  good.convergence.epochs = 1;
  good.convergence.progress = [&](const std::string& line) { lines.push_back(line); };
  TrainingRun warming = good, accumulating = good, validating = good;
  warming.convergence.warmup_epochs = 1;
  accumulating.trainer.accumulate = 11;  // an epoch has ten batches
  std::vector<TrainingRun> wrong{warming, accumulating};
  validating.data.data = "generated:n16c10w40h36files1";
  validating.data.validation = "generated:n8c11w40h36files1";  // of a network for ten classes
  if (why_no_images().empty()) wrong.push_back(validating);
  for (const TrainingRun& run : wrong) {
    EXPECT_THROW(run_case([&] { return make_training_workload(run, plugins(), *alone); }, *alone,
                          TimingOptions{}),
                 InputError);
    EXPECT_TRUE(lines.empty()) << lines.front();
  }
}

/// A case before has left memory to the allocator: a small network would seem to need none.
TEST(TrainingWorkload, MemoryDoesNotDependOnTheCaseBefore) {
  const auto alone = make_serial_communicator();
  for (const std::int64_t batch : {64, 4}) {
    TrainingRun run;
    run.trainer = network_test::small_settings("native");
    run.trainer.batch = batch;
    run.steps = 1;
    run.data.classes = run.trainer.network.classes;
    run.data.input = run.trainer.network.input;
    const Outcome outcome = run_case([&] { return make_training_workload(run, plugins(), *alone); },
                                     *alone, TimingOptions{});
    ASSERT_EQ(outcome.status, "ok") << outcome.reason;
    const auto peak = outcome.metrics.find("peak_memory_bytes");
    if (peak == outcome.metrics.end()) continue;  // not known: an allocator that keeps all
    EXPECT_GE(peak->second.value, static_cast<double>(outcome.execution->workspace_bytes));
  }
}

/// Else the row would have the name of a backend, and the time of others.
TEST(TrainingWorkload, ABackendThatComputesNothingIsUnsupported) {
  const auto alone = make_serial_communicator();
  TrainingRun run;
  run.trainer = network_test::small_settings("missing");
  run.steps = 1;
  const auto outcome = [&] {
    return run_case([&] { return make_training_workload(run, plugins(), *alone); }, *alone,
                    TimingOptions{});
  };
  const Outcome found = outcome();
  EXPECT_EQ(found.status, "unsupported");
  EXPECT_TRUE(found.reason.starts_with("missing computes no operation of the network ("))
      << found.reason;
  run.trainer.executor.measured = true;  // one of several candidates
  run.data.classes = run.trainer.network.classes;
  run.data.input = run.trainer.network.input;
  EXPECT_EQ(outcome().status, "ok");
}

}  // namespace test_training_workload
}  // namespace assay
